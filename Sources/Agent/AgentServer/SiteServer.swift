import ControlAPI
import Cryptography
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A directory of the global index as a web site on 127.0.0.1, under a name that nobody can guess. Its pages may run: the
/// name makes them another origin than the agent's own page (docs/decisions/http.md).
package struct SiteServer: Sendable {
    /// Requests at once; further ones are answered `busy`.
    private static let answerLimit = 256

    private let control: any AgentControl
    private let folder: String
    private let directory: String
    private let port: Int
    private let limits: ServerLimits
    /// `site-….localhost`: browsers look such names up nowhere.
    let name: String

    /// - Parameters:
    ///   - directory: relative to the folder's root, as in its index; empty for the root.
    ///   - port: 0 for any that is free.
    package init(
        control: any AgentControl, folder: String, directory: String, port: Int, limits: ServerLimits = .init()
    ) {
        self.control = control
        self.folder = folder
        self.directory = directory
        self.port = port
        self.limits = limits
        name = "site-" + String(SecureRandom.uint64(), radix: 36) + ".localhost"
    }

    /// Serves until cancelled. `onListening` gets the site's address, `http://NAME:PORT/`, before the first request is
    /// taken. Throws `failed` if the port cannot be used.
    package func run(onListening: @escaping @Sendable (String) async throws -> Void) async throws {
        let door: NIOAsyncChannel<Connection, Never>
        do {
            door = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 128)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(host: "127.0.0.1", port: port) { [limits] channel in
                    channel.eventLoop.makeCompletedFuture {
                        // Files are read; nothing is sent here.
                        try Connection(channel: channel, limits: limits) { _ in .link }
                    }
                }
        } catch {
            let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw ControlError(
                .failed, "The site cannot be served on 127.0.0.1, port \(port): \(reason). Choose another --port.")
        }
        let host = "\(name):\(door.channel.localAddress?.port ?? port)"
        try await door.executeThenClose { connections in
            try await withTaskCancellationHandler {
                try await onListening("http://\(host)/")
                await serve(connections, host: host)
            } onCancel: {
                door.channel.close(promise: nil)
            }
        }
        try Task.checkCancellation()
    }

    private func serve(_ connections: NIOAsyncChannelInboundStream<Connection>, host: String) async {
        let (idle, answers) = (IdleChannels(limit: limits.connections), Count())
        await withDiscardingTaskGroup { group in
            do {
                for try await connection in connections {
                    let number = idle.add(connection.channel)
                    group.addTask {
                        await serve(connection, host: host, answers) { idle.remove(number) }
                        try? await connection.channel.close()
                        idle.remove(number)
                    }
                }
            } catch {
                // The door is broken; what is inside goes on to its end.
            }
        }
    }

    /// - Parameter onRequest: called when the request is complete.
    private func serve(
        _ connection: Connection, host: String, _ answers: Count, onRequest: () -> Void
    ) async {
        var sink = ResponseSink(channel: connection.channel)
        sink.stallTime = limits.stallTime
        do {
            let request = try await connection.request.get()
            onRequest()
            sink.isHead = request.method == "HEAD"
            defer { answers.decrement() }
            guard answers.increment() <= Self.answerLimit else { throw ControlError.busy(Self.answerLimit) }
            let answering = sink
            await connection.untilClosed {
                do {
                    try await answer(request, host: host, through: answering)
                } catch {
                    await refuse(ControlError(asControl: error), through: answering)
                }
            }
        } catch {
            let refusal = error as? RequestRefusal ?? RequestRefusal(error: ControlError(asControl: error))
            await refuse(refusal.error, through: sink)
            // If the client could not write on, it would not read the answer.
            if refusal.isWriting {
                try? await connection.channel.close(mode: .output)
                try? await connection.channel.closeFuture.get()
            }
        }
    }

    private func answer(_ request: ControlRequest, host: String, through sink: ResponseSink) async throws {
        // Whoever does not know the name is not the user: neither another page nor, under an address, the agent's cookie.
        guard request.hosts.count == 1, request.hosts[0].lowercased() == host else {
            throw ControlError(
                .noPermission, "No such site. Use the address that `synctrain serve` printed.")
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            throw ControlError(.methodNotAllowed, "A site is read-only.")
        }
        let target = try SiteTarget(target: request.target)
        let entry = try await stat(target.path)
        switch entry.kind {
        case .file:
            guard !target.isDirectory else { throw ControlError(.noSuchPath, "\(target.path) is not a directory.") }
            try await send(target.path, request, sink)
        case .directory:
            guard target.isDirectory else {
                return try await redirect(to: target.directoryLocation, through: sink)
            }
            let index = target.path.isEmpty ? "index.html" : target.path + "/index.html"
            if try await isFile(index) { return try await send(index, request, sink) }
            try await list(target, sink)
        case .symlink:
            throw ControlError(.noSuchPath, "\(target.path) is a symbolic link; links are not followed.")
        }
    }

    private func send(_ path: String, _ request: ControlRequest, _ sink: ResponseSink) async throws {
        let response = FileResponse(
            control: control, sink: sink,
            presentation: { _ in .init(contentType: MediaType.ofSite(path: path), headers: Self.headers) },
            expected: expected(path))
        if request.method == "HEAD" {
            try await response.sendHead(reference(path))
        } else {
            try await response.send(reference(path), ranges: request.ranges)
        }
    }

    /// What is there, of the site's own folder: `folder:private:/` may be the root of the folder `folder:private`.
    private func stat(_ path: String) async throws -> Entry {
        let entry = try await control.call(Endpoints.stat, reference(path))
        try expected(path).check(entry, reference(path))
        return entry
    }

    private func isFile(_ path: String) async throws -> Bool {
        do {
            return try await stat(path).kind == .file
        } catch let error as ControlError where [.noSuchPath, .gone].contains(error.code) {
            return false
        }
    }

    private func list(_ target: SiteTarget, _ sink: ResponseSink) async throws {
        let hasBegun = Mutex(false)
        let begin = { @Sendable in
            guard !hasBegun.withLock({ $0 }) else { return }
            hasBegun.withLock { $0 = true }
            try await sink.begin(
                status: 200, contentType: "text/html; charset=utf-8",
                headers: Self.headers.filter { $0.0 != "content-security-policy" } + [
                    (
                        "content-security-policy",
                        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
                    )
                ])
            try await sink.write(Array(SiteListing.head(target).utf8))
        }
        do {
            try await control.call(Endpoints.list, ListQuery(path: reference(target.path))) { entry in
                try await begin()
                try await sink.write(Array(SiteListing.row(entry).utf8))
            }
            try await begin()
            try await sink.write(Array(SiteListing.end.utf8))
            try await sink.end()
        } catch {
            guard hasBegun.withLock({ $0 }) else { throw error }
            try? await sink.channel.close()
        }
    }

    private func redirect(to location: String, through sink: ResponseSink) async throws {
        try await sink.begin(
            status: 308, contentType: "text/plain; charset=utf-8", contentLength: 0,
            headers: Self.headers + [("location", location)])
        try await sink.end()
    }

    /// A sentence for whoever looks at it.
    private func refuse(_ error: ControlError, through sink: ResponseSink) async {
        let text = Array((error.message + "\n").utf8)
        do {
            try await sink.begin(
                status: error.httpStatus, contentType: "text/plain; charset=utf-8", contentLength: Int64(text.count),
                headers: Self.headers + (error.code == .methodNotAllowed ? [("allow", "GET, HEAD")] : []))
            try await sink.write(text)
            try await sink.end()
        } catch {
            sink.channel.close(promise: nil)
        }
    }

    /// Relative to the folder's root.
    private func whole(_ path: String) -> String {
        directory.isEmpty ? path : path.isEmpty ? directory : directory + "/" + path
    }

    private func expected(_ path: String) -> FileResponse.Expected { .init(folder: folder, path: whole(path)) }

    private func reference(_ path: String) -> PathReference {
        PathReference(text: "\(folder):\(whole(path))", workingDirectory: "/")
    }

    /// The site's own pages may do what pages do. Others may not show or read it, and its name goes to nobody.
    private static let headers = [
        ("content-security-policy", "frame-ancestors 'self'"), ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"), ("referrer-policy", "same-origin"),
    ]
}
