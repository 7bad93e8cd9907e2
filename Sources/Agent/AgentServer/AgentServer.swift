import ControlAPI
import Cryptography
import Glibc
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Carries what an agent answers over HTTP/1.1 on a Unix socket, and over TCP beside it for browsers that are logged in and for
/// links to files, as docs/control-api.md says.
///
/// NIOHTTP1 and not Hummingbird: docs/decisions/http.md. A connection carries one request: who closes it cancels the
/// request's work, and nothing idle stays open.
package struct AgentServer: Service {
    package typealias Limits = ServerLimits
    package typealias Surroundings = ServerSurroundings

    /// One of the two ways to connect, and what is open on it.
    private final class Entrance: Sendable {
        enum Kind: Sendable {
            /// Who opens it is the user.
            case socket
            /// Anybody: every program of this machine, and every page in its browsers.
            case network
        }

        let kind: Kind
        let idle: IdleChannels
        /// Answers with files of the page, which everybody gets.
        let pages: IdleChannels
        /// Files that are read: with a session, with a link, with each link.
        let streams = Count()
        let linkStreams = Count()
        let streamsOfLinks = CountByLink()
        let requests = Count()

        init(kind: Kind, limits: Limits) {
            self.kind = kind
            idle = IdleChannels(limit: limits.connections)
            pages = IdleChannels(limit: limits.requests)
        }

        /// What a request counts among, and how many of those there may be.
        func count(_ request: ControlRequest, _ limits: Limits) -> (Count, limit: Int) {
            guard kind == .network, request.isForFile else { return (requests, limits.requests) }
            return (request.admission == .link ? linkStreams : streams, limits.streams)
        }
    }

    private let responder: ControlResponder
    private let socket: ControlSocket
    private let links: LinkEndpoint?
    private let limits: Limits
    private let logger: Logger
    private let onListening: @Sendable () async -> Void

    /// - Parameters:
    ///   - agent: answers all endpoints but those that the server has itself.
    ///   - socketPath: absolute; its directory is made with mode 0700 if it is not there.
    ///   - links: where links to files are answered; nil for nowhere.
    ///   - pace: returns when so many bytes of a file that a link leads to may go.
    ///   - onListening: called once when connections are taken.
    package init(
        agent: EndpointHandlers, socketPath: String, links: LinkEndpoint? = nil,
        pace: @escaping @Sendable (Int) async -> Void = { _ in }, surroundings: Surroundings = Surroundings(),
        limits: Limits = Limits(), logger: Logger, onListening: @escaping @Sendable () async -> Void = {}
    ) {
        responder = ControlResponder(
            agent: agent, logger: logger, links: links, pace: pace, surroundings: surroundings)
        socket = ControlSocket(path: socketPath)
        self.links = links
        self.limits = limits
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until cancelled or told to shut down gracefully: then streams end with an error line, and what has not
    /// ended after `shutdownTime` is cut. The socket's file is gone on return. If nothing can be listened on over TCP the
    /// endpoint says why, and the socket is served all the same.
    ///
    /// Throws `busy` if a live agent has the socket, `noPermission` or `failed` if it cannot be made.
    package func run() async throws {
        let claim = try socket.claim()
        defer { claim.release() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await cancelWhenGracefulShutdown { await responder.jobs.run() } }
            defer { group.cancelAll() }
            try await serveAll()
        }
    }

    private func serveAll() async throws {
        guard let links, let door = await open(links) else { return try await serveSocket() }
        defer { links.closed() }
        try await door.executeThenClose { visitors in
            // The socket's end is the server's: when it is over, so is this.
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let entrance = Entrance(kind: .network, limits: limits)
                    await closing(door.channel) { await serve(visitors, entrance) }
                }
                defer { group.cancelAll() }
                try await serveSocket()
            }
        }
    }

    private func serveSocket() async throws {
        let server: NIOAsyncChannel<Connection, Never>
        do {
            server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 128)
                .bind(unixDomainSocketPath: socket.provisionalPath) { [limits] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try Connection(channel: channel, limits: limits) { _ in .user }
                    }
                }
        } catch {
            throw socket.bindFailure(error)
        }
        try await server.executeThenClose { connections in
            try socket.publish()
            defer { socket.retract() }
            await closing(server.channel) {
                await serve(connections, Entrance(kind: .socket, limits: limits), onListening)
            }
        }
    }

    /// Nil, and the endpoint says why, if nothing is to be listened on or it cannot be.
    private func open(_ links: LinkEndpoint) async -> NIOAsyncChannel<Connection, Never>? {
        guard let host = links.host else { return nil }
        // Never by accident: whatever the caller has decided.
        guard links.isThisMachine || links.isSecured else {
            links.failed(
                Phrase("Other machines reach \(host), and the page has no password or no certificate."))
            logger.error("\(links.problem ?? "")")
            return nil
        }
        var obstacle: Phrase?
        for port in links.candidates {
            do {
                let door = try await door(host, port, links)
                let found = door.channel.localAddress?.port ?? port
                await links.opened(port: found, obstacle: found == links.port ? nil : obstacle, logger)
                logger.info("the page and links to files are at \(links.address ?? host)")
                if let remark = links.remark { logger.warning("\(remark)") }
                return door
            } catch {
                // Why the first could not be used is what is said.
                obstacle = obstacle ?? Self.reason(error)
            }
        }
        links.failed(
            Phrase(
                "The agent cannot listen for HTTP on \(host), port \(links.port): \(obstacle ?? ""). Change `listen` in [http] of "
                    + "the configuration and start the agent again."))
        logger.error("\(links.problem ?? "")")
        return nil
    }

    private static func reason(_ error: any Error) -> Phrase {
        guard let error = error as? IOError else { return "\(error)" }
        guard error.errnoCode != EADDRINUSE else { return Phrase("another program uses it") }
        return "\(String(cString: strerror(error.errnoCode)))"
    }

    private func door(
        _ host: String, _ port: Int, _ links: LinkEndpoint
    ) async throws -> NIOAsyncChannel<Connection, Never> {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: host, port: port) { [limits] channel in
                channel.eventLoop.makeCompletedFuture {
                    let arrival = TLSDoor.Arrival()
                    if let tls = links.tls {
                        try channel.pipeline.syncOperations.addHandler(TLSDoor(tls: tls, arrival: arrival))
                    }
                    return try Connection(channel: channel, limits: limits) { request throws(ControlError) in
                        try links.admission(of: request, isPlain: arrival.isPlain)
                    }
                }
            }
    }

    /// The channel is closed rather than the loop left: connections that wait in it are still served.
    private func closing(_ channel: any Channel, _ body: () async -> Void) async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await body()
        } onCancelOrGracefulShutdown: {
            channel.close(promise: nil)
        }
    }

    private func serve(
        _ connections: NIOAsyncChannelInboundStream<Connection>, _ entrance: Entrance,
        _ onListening: @escaping @Sendable () async -> Void = {}
    ) async {
        await withDiscardingTaskGroup { group in
            await onListening()
            do {
                for try await connection in connections {
                    let number = entrance.idle.add(connection.channel)
                    group.addTask {
                        await serve(connection, entrance, number: number)
                        entrance.idle.remove(number)
                    }
                }
            } catch {
                logger.error("No more connections are accepted: \(error)")
            }
        }
    }

    /// Reads the request, answers it, closes.
    private func serve(_ connection: Connection, _ entrance: Entrance, number: Int) async {
        let channel = connection.channel
        await withTaskCancellationOrGracefulShutdownHandler {
            var sink = ResponseSink(channel: channel)
            do {
                if entrance.kind == .network { sink = .overNetwork(channel, stallTime: limits.stallTime) }
                let request = try await connection.request.get()
                entrance.idle.remove(number)
                sink.isHead = request.method == "HEAD"
                try await respond(to: request, of: connection, through: sink, entrance)
            } catch {
                let refusal = error as? RequestRefusal ?? RequestRefusal(error: ControlError(asControl: error))
                logger.debug("A request was refused: \(refusal.error)")
                await sink.answer(refusal.error)
                // A secret that was replaced long ago has ended its session.
                if refusal.error.code == .notLoggedIn { await links?.save(logger) }
                // If the client could not write on, it would not read the answer.
                if refusal.isWriting {
                    try? await channel.close(mode: .output)
                    try? await channel.closeFuture.get()
                }
            }
            try? await channel.close()
        } onCancelOrGracefulShutdown: {
            // Streams end by themselves now; this is for who does not read.
            channel.eventLoop.scheduleTask(in: limits.shutdownTime) { channel.close(promise: nil) }
        }
    }

    /// Answers what was let in: so much at once.
    private func respond(
        to request: ControlRequest, of connection: Connection, through sink: ResponseSink, _ entrance: Entrance
    ) async throws {
        if case .page = request.admission {
            // Who reads nothing of it keeps nobody else from an answer.
            let number = entrance.pages.add(connection.channel)
            defer { entrance.pages.remove(number) }
            return await respond(to: request, of: connection, through: sink)
        }
        let (count, limit) = entrance.count(request, limits)
        defer { count.decrement() }
        guard count.increment() <= limit else { throw ControlError.busy(limit) }
        // The holder of one link leaves room for those of others.
        let link = request.linkSignature
        defer { if let link { entrance.streamsOfLinks.decrement(link) } }
        if let link, entrance.streamsOfLinks.increment(link) > limits.linkStreams {
            throw ControlError.busy(limits.linkStreams)
        }
        // Logging out ends all answers to browsers but its own.
        guard case .session(let session) = request.admission, let links, !request.isLogOut else {
            return await respond(to: request, of: connection, through: sink)
        }
        var sink = sink
        // Not with what a browser may keep, or what is often cancelled.
        if !request.isForFile, request.path != Endpoints.thumbnail.id.path, let cookie = links.newCookie(of: session) {
            sink.standing.append(("set-cookie", cookie))
        }
        await links.save(logger)
        let isAnswered = await links.sessions.during(
            session, end: { connection.channel.close(promise: nil) },
            { [sink] in await respond(to: request, of: connection, through: sink) })
        guard isAnswered else { throw ControlError.notLoggedIn(takesPassword: links.tls != nil) }
    }

    private func respond(to request: ControlRequest, of connection: Connection, through sink: ResponseSink) async {
        await connection.untilClosed { await responder.respond(to: request, through: sink) }
    }
}

extension ControlError {
    static func busy(_ limit: Int) -> ControlError {
        ControlError(.busy, "The agent is busy with \(limit) requests. Try again.", isRetryable: true)
    }
}

/// How many there are at this moment.
final class Count: Sendable {
    private let count = Mutex(0)

    /// The count with this one.
    func increment() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    func decrement() { count.withLock { $0 -= 1 } }
}

/// The same of each link, by its signature.
final class CountByLink: Sendable {
    private let counts = Mutex<[SHA256Digest: Int]>([:])

    func increment(_ link: SHA256Digest) -> Int {
        counts.withLock { counts in
            counts[link, default: 0] += 1
            return counts[link, default: 0]
        }
    }

    func decrement(_ link: SHA256Digest) {
        counts.withLock { counts in
            let rest = counts[link, default: 1] - 1
            counts[link] = rest > 0 ? rest : nil
        }
    }
}
