import ControlAPI
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix

/// Asks a running agent over its control socket.
///
/// Every call opens a connection of its own; cancelling the calling task closes it, which ends the agent's work. All
/// calls throw `ControlError`: what the agent answered, `noAgent` if none listens, `interrupted` if the answer broke off;
/// after a cancellation `CancellationError`.
package struct ControlClient: AgentControl {
    private let socketPath: String
    private let program: String
    private let group: any EventLoopGroup

    /// - Parameter program: how the program that starts the agent is called, with its `--home`; for what is proposed.
    package init(
        socketPath: String, program: String = "synctrain",
        group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup
    ) {
        self.socketPath = socketPath
        self.program = program
        self.group = group
    }

    /// Asks for something and gives the answer.
    ///
    /// - Throws: `ControlError` (also `tooLarge` or `failed` for an answer that cannot be read); `CancellationError`.
    @discardableResult
    package func call<Request, Answer>(
        _ endpoint: Endpoint<Request, Answer>, _ request: Request
    ) async throws -> Answer {
        try await exchange(endpoint, request) { _, body in
            let bytes = try await body.collect(upTo: ControlLimits.document)
            do {
                return try endpoint.answer(bytes)
            } catch {
                throw ControlError(
                    .failed,
                    "The agent's answer cannot be decoded (\(error)). Restart the agent if its version differs.")
            }
        }
    }

    /// Asks for a stream; `emit` gets each element as its line arrives.
    ///
    /// - Throws: `ControlError`, also after some elements; what `emit` throws; `CancellationError`.
    package func call<Request, Element>(
        _ endpoint: Endpoint<Request, Lines<Element>>, _ request: Request,
        emit: @Sendable (Element) async throws -> Void
    ) async throws {
        try await exchange(endpoint, request) { _, body in
            var splitter = LineSplitter(limit: ControlLimits.line)
            while let chunk = try await body.next() {
                try splitter.append(chunk.readableBytesView)
                while let line = splitter.next() { try await emit(try Element.parse(line)) }
            }
            guard splitter.isEmpty else { throw ControlError.brokenOff }
        }
    }

    /// As `AgentControl.read`. The entry given to `start` is asked for first, by `stat`; a file that changes in between
    /// is found by its size and ends the read.
    ///
    /// - Throws: `ControlError` (`interrupted` if the file changes in between); what `start` and `emit` throw;
    ///   `CancellationError`.
    package func read(
        _ path: PathReference, range: ByteRange?, start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let entry = try await call(Endpoints.stat, path)
        let part = (range ?? .bytes(from: 0, through: nil)).resolved(size: entry.size)
        try await exchange(Endpoints.file, path, range: range) { head, body in
            let announced = part.map { $0.upperBound - $0.lowerBound + 1 } ?? 0
            guard head.headers.first(name: "content-length").flatMap({ Int64($0) }) == announced else {
                throw ControlError(
                    .interrupted, "\(path.text) has just changed. Try again.", isRetryable: true, path: path.text)
            }
            try await start(entry, part)
            while let chunk = try await body.next() {
                try await emit([UInt8](chunk.readableBytesView))
            }
        }
    }

    /// As `AgentControl.readMember`; the facts are those of the answer's head.
    ///
    /// - Throws: `ControlError`, also after some bytes; what `start` and `emit` throw; `CancellationError`.
    package func readMember(
        _ member: MemberReference, range: ByteRange?,
        start: @Sendable (MemberFacts, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await exchange(Endpoints.member, member, range: range) { head, body in
            var facts = try MemberFacts(head)
            var part = facts.size > 0 ? 0...facts.size - 1 : nil
            if head.status.code == 206 {
                // ascii: a header of numbers
                guard let text = head.headers.first(name: "content-range"), let size = text.split(separator: "/").last,
                    let whole = Int64(size), let resolved = range?.resolved(size: whole)
                else { throw ControlError.brokenOff }
                facts.size = whole
                part = resolved
            }
            try await start(facts, part)
            while let chunk = try await body.next() { try await emit([UInt8](chunk.readableBytesView)) }
        }
    }

    /// Asks for the facts of a file in an archive, without its bytes.
    ///
    /// - Throws: `ControlError`; `CancellationError`.
    package func memberFacts(_ member: MemberReference) async throws -> MemberFacts {
        try await exchange(Endpoints.member, member, method: .head) { head, _ in try MemberFacts(head) }
    }
}

extension MemberFacts {
    fileprivate init(_ head: HTTPResponseHead) throws(ControlError) {
        guard let size = head.headers.first(name: "content-length").flatMap({ Int64($0) }), size >= 0 else {
            throw ControlError.brokenOff
        }
        self.init(size: size, isSeekable: head.headers.first(name: "accept-ranges") == "bytes")
    }
}

// MARK: - Exchange

extension ControlClient {
    /// Sends a request and hands the head of a good answer and its body to `receive`. A bad answer is thrown.
    private func exchange<Request, Answer, Result: Sendable>(
        _ endpoint: Endpoint<Request, Answer>, _ request: Request, method: ControlMethod? = nil,
        range: ByteRange? = nil, receive: (HTTPResponseHead, inout AnswerBody) async throws -> Result
    ) async throws -> Result {
        let bytes = try endpoint.body(request)
        let head = Self.head(
            method ?? endpoint.id.method, endpoint.target(request), range: range, byteCount: bytes?.count)
        let connection = try await connect()
        return try await connection.executeThenClose { inbound, outbound in
            try await send(head, bytes, to: outbound)
            var body = AnswerBody(parts: inbound.makeAsyncIterator())
            let head = try await body.head()
            guard (200..<300).contains(head.status.code) else {
                let bytes = try await body.collect(upTo: ControlLimits.document)
                throw (try? ControlJSON.decode(ControlError.self, from: bytes))
                    ?? ControlError(.failed, "The agent answered \(head.status) without a reason.")
            }
            return try await receive(head, &body)
        }
    }

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    private func connect() async throws -> Connection {
        do {
            return try await ClientBootstrap(group: group).connect(unixDomainSocketPath: socketPath) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        } catch let error as IOError where error.errnoCode == ENOENT || error.errnoCode == ECONNREFUSED {
            throw ControlError(
                .noAgent,
                "No agent answers on \(socketPath). Start it with `\(program) agent start`, or in the foreground with "
                    + "`\(program) agent run`.", isRetryable: true, path: socketPath)
        } catch let error as IOError where error.errnoCode == EACCES || error.errnoCode == EPERM {
            throw Self.forbidden(socketPath)
        } catch {
            try Task.checkCancellation()
            throw ControlError(.noAgent, "The agent on \(socketPath) cannot be reached: \(error).", path: socketPath)
        }
    }

    /// Why this user may not connect to a socket: somebody else's, or one in a directory that is closed to this user.
    static func forbidden(_ socketPath: String) -> ControlError {
        var found = stat()
        let isSeen = lstat(socketPath, &found) == 0
        let cause: Phrase =
            if !isSeen {
                Phrase("You may not look into the directory of \(socketPath). Check who owns it and its permissions.")
            } else if found.st_uid == geteuid() {
                Phrase("The permissions of \(socketPath) keep you out. Run `chmod 600` on it.")
            } else {
                Phrase("The agent on \(socketPath) belongs to another user. Run the command as that user.")
            }
        return ControlError(.noPermission, cause, path: socketPath)
    }

    private static func head(
        _ method: ControlMethod, _ target: String, range: ByteRange?, byteCount: Int?
    ) -> HTTPRequestHead {
        var headers = HTTPHeaders([("host", "synctrain"), ("connection", "close")])
        if let range { headers.add(name: "range", value: "bytes=\(range.text)") }
        if let byteCount {
            headers.add(name: "content-type", value: "application/json")
            headers.add(name: "content-length", value: String(byteCount))
        } else if method == .post {
            headers.add(name: "content-length", value: "0")
        }
        return HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: method.rawValue), uri: target, headers: headers)
    }

    private func send(
        _ head: HTTPRequestHead, _ body: [UInt8]?, to outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    ) async throws {
        do {
            try await outbound.write(.head(head))
            if let body { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
            try await outbound.write(.end(nil))
        } catch {
            // A request without a body is whole with its head: the agent may have answered it and hung up before its end
            // is written. What it answered is there to be read; if it did not, reading says so.
            try Task.checkCancellation()
        }
    }
}
