import ControlAPI
import Logging
import NIOCore
import ServiceLifecycle

/// Turns a request into a call of the agent and what the agent says into a response.
struct ControlResponder: Sendable {
    /// The agent's, and those that the server has itself.
    let handlers: EndpointHandlers
    let logger: Logger
    /// What links to files are signed with; nil where there are none.
    let links: LinkEndpoint?
    /// Returns when so many bytes of a file that a link leads to may go.
    let pace: @Sendable (Int) async -> Void
    let jobs: JobRegistry

    init(
        agent: EndpointHandlers, logger: Logger, links: LinkEndpoint?, pace: @escaping @Sendable (Int) async -> Void,
        surroundings: ServerSurroundings
    ) {
        (self.logger, self.links, self.pace) = (logger, links, pace)
        jobs = JobRegistry(now: surroundings.now, announce: surroundings.announce)
        handlers = Self.adding(to: agent, jobs, surroundings)
    }

    func respond(to request: ControlRequest, through sink: ResponseSink) async {
        do {
            switch request.admission {
            case .page(let name): return try await answerPage(name, request, through: sink)
            case .password: return try await answerPassword(request, through: sink)
            case .redirect(let address):
                try await sink.begin(
                    status: 307, contentType: "text/plain; charset=utf-8", contentLength: 0,
                    headers: [("location", address)])
                return try await sink.end()
            case .login: return try await answerLogin(request, through: sink)
            case .link: return try await answerLink(request, through: sink)
            case .user where request.path == LinkTarget.path: return try await answerLink(request, through: sink)
            case .user, .session: break
            }
            let session: SessionTable.ID? = if case .session(let id) = request.admission { id } else { nil }
            // A `HEAD` asks for what a `GET` would; the sink leaves the body out.
            let routed = try handlers.route(
                method: request.method == "HEAD" ? "GET" : request.method, target: request.target, body: request.body,
                isFromBrowser: session != nil, session: session.flatMap { links?.sessions.name(of: $0) })
            if let part = try await part(of: routed) { return try await sink.answer(json: part) }
            if try await answerAsJob(routed, request, through: sink) { return }
            switch routed.reply {
            case .document(let make):
                try await answer(routed.endpoint, try await make(), through: sink)
            case .lines(let pace, let write):
                try await stream(routed.endpoint, pace, write, request, through: sink)
            case .file(let path):
                let response = try fileResponse(to: request, through: sink)
                if sink.isHead {
                    try await response.sendHead(path)
                } else {
                    try await response.send(path, ranges: request.ranges)
                }
            case .member(let member):
                let response = try memberResponse(to: request, through: sink)
                if sink.isHead {
                    try await response.sendHead(member)
                } else {
                    try await response.send(member, ranges: request.ranges)
                }
            }
        } catch {
            // Everything that streams deals with errors behind its first byte itself: nothing has been sent yet.
            await sink.answer(report(error))
        }
    }

    private func answer(_ endpoint: any AnyEndpoint, _ bytes: [UInt8], through sink: ResponseSink) async throws {
        guard case .bytes(let type, _) = endpoint.content else { return try await sink.answer(json: bytes) }
        // A picture, and nothing that a browser could take for more.
        let isFromFiles = [Endpoints.thumbnail.id, Endpoints.versionBytes.id].contains(endpoint.id)
        try await sink.begin(
            status: 200, contentType: type, contentLength: Int64(bytes.count),
            headers: isFromFiles
                ? [
                    ("content-security-policy", "default-src 'none'; sandbox"),
                    ("cross-origin-resource-policy", "same-origin"), ("referrer-policy", "no-referrer"),
                ] : [])
        try await sink.write(bytes)
        try await sink.end()
    }

    /// An error before the first line is thrown; later it is the last line.
    private func stream(
        _ endpoint: any AnyEndpoint, _ pace: LinePace,
        _ write: @escaping @Sendable (any LineWriter) async throws -> Void,
        _ request: ControlRequest, through sink: ResponseSink
    ) async throws {
        let isEventStream = endpoint.id == Endpoints.events.id && request.acceptsEventStream
        let lines = LineStream(sink: sink, framing: isEventStream ? .serverSentEvents : .lines, pace: pace)
        // The head of a stream needs none of the work.
        if sink.isHead { return try await lines.end() }
        do {
            try await cancelWhenGracefulShutdown {
                if isEventStream {
                    try await handlers.events(request.lastEventID) { id in
                        try await lines.send(id: id)
                    } _: { event in
                        try await lines.send(try ControlJSON.encode(event), name: event.type, id: event.id)
                    }
                } else {
                    if pace == .endless { try await lines.begin() }
                    try await write(lines)
                }
                // What would go on for ever is not complete: it has ended because nobody is left who says more.
                if pace == .endless { try Task.checkCancellation() }
            }
            try await lines.end()
        } catch {
            guard lines.hasBegun else { throw error }
            await lines.end(report(error))
        }
    }

    private func report(_ error: any Error) -> ControlError {
        // A client that has what it wants, or that was ended, hangs up in the middle: nothing has failed here.
        if let error = error as? ChannelError, error == .ioOnClosedChannel {
            return ControlError(.interrupted, "The client closed the connection.", isRetryable: true)
        }
        let error = ControlError(asControl: error)
        if error.code == .failed { logger.warning("A control request failed: \(error)") }
        return error
    }
}

extension ControlError {
    /// What a client is told of any error.
    init(asControl error: any Error) {
        switch error {
        case let error as ControlError: self = error
        case is CancellationError:
            self.init(.stopping, "The agent is stopping. Start it again and repeat the command.", isRetryable: true)
        default: self.init(.failed, "\(error)")
        }
    }
}
