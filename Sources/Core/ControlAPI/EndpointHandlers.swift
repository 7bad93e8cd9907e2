import Synchronization

/// What answers each endpoint: the table that an agent hands to its server.
package struct EndpointHandlers: AgentControl {
    package typealias Events =
        @Sendable (
            _ after: String?, _ begin: @Sendable (String) async throws -> Void,
            _ emit: @Sendable (AgentEvent) async throws -> Void
        ) async throws -> Void

    /// The bytes of files, which have no endpoint's shape.
    package struct Bytes: Sendable {
        package typealias Read<Subject, Facts> =
            @Sendable (
                Subject, ByteRange?, _ start: @Sendable (Facts, ClosedRange<Int64>?) async throws -> Void,
                _ emit: @Sendable ([UInt8]) async throws -> Void
            ) async throws -> Void

        var read: Read<PathReference, Entry>
        var readMember: Read<MemberReference, MemberFacts>
        var memberFacts: @Sendable (MemberReference) async throws -> MemberFacts

        package init(
            read: @escaping Read<PathReference, Entry>, readMember: @escaping Read<MemberReference, MemberFacts>,
            memberFacts: @escaping @Sendable (MemberReference) async throws -> MemberFacts
        ) {
            (self.read, self.readMember, self.memberFacts) = (read, readMember, memberFacts)
        }
    }

    /// What answers one endpoint.
    private struct Handler: Sendable {
        let endpoint: any AnyEndpoint
        /// `Run` or `Stream` of the endpoint's types, for callers who have them; nil for bytes.
        let typed: (any Sendable)?
        /// Reads and checks a request.
        let reply: @Sendable (IncomingRequest) throws -> EndpointReply
    }

    private struct Run<Request, Answer>: Sendable {
        let body: @Sendable (Request) async throws -> Answer
    }

    private struct Stream<Request, Element>: Sendable {
        let body: @Sendable (Request, @Sendable (Element) async throws -> Void) async throws -> Void
    }

    private var handlers: [EndpointID: Handler] = [:]
    private let bytes: Bytes
    private let failure: @Sendable (any Error) -> any Error
    /// Events behind an id, with the id to come back with: `begin` is told it before the first event.
    package let events: Events

    /// - Parameter failure: Makes the error that a client gets of the error of any handler. Cancellations, and what `start` and `emit`
    ///   throw, pass as they are.
    package init(
        bytes: Bytes, events: @escaping Events, failure: @escaping @Sendable (any Error) -> any Error = { $0 }
    ) {
        (self.bytes, self.events, self.failure) = (bytes, events, failure)
        on(Endpoints.events) { _, emit in try await events(nil, { _ in }, emit) }
        on(Endpoints.file, reads: { .file($0) })
        on(Endpoints.member, reads: { .member($0) })
    }

    /// The endpoints that have a handler.
    package var ids: Set<EndpointID> { Set(handlers.keys) }

    // MARK: filling

    /// - Parameter check: refuses what a browser may not ask for, logged in or not, by throwing.
    package mutating func on<Request, Answer>(
        _ endpoint: Endpoint<Request, Answer>, inBrowser check: @escaping @Sendable (Request) throws -> Void = { _ in },
        _ run: @escaping @Sendable (Request) async throws -> Answer
    ) {
        let run = Run<Request, Answer> { [failure] request in
            try await Self.answering(failure) { _ in try await run(request) }
        }
        handlers[endpoint.id] = Handler(endpoint: endpoint, typed: run) { incoming in
            let request = try endpoint.request(incoming)
            if incoming.isFromBrowser { try check(request) }
            return .document { try endpoint.answers.encode(try await run.body(request)) }
        }
    }

    package mutating func on<Answer>(
        _ endpoint: Endpoint<Void, Answer>, _ run: @escaping @Sendable () async throws -> Answer
    ) {
        on(endpoint) { (_: Void) in try await run() }
    }

    package mutating func on<Request>(
        _ endpoint: Endpoint<Request, Done>, _ run: @escaping @Sendable (Request) async throws -> Void
    ) {
        on(endpoint) { request -> Done in
            try await run(request)
            return Done()
        }
    }

    /// - Parameter check: refuses what a browser may not ask for, logged in or not, by throwing.
    package mutating func on<Request, Element>(
        _ endpoint: Endpoint<Request, Lines<Element>>,
        inBrowser check: @escaping @Sendable (Request) throws -> Void = { _ in },
        _ run: @escaping @Sendable (Request, @Sendable (Element) async throws -> Void) async throws -> Void
    ) {
        let stream = Stream<Request, Element> { [failure] request, emit in
            try await Self.answering(failure) { receiver in
                try await run(request) { line in try await receiver.take { try await emit(line) } }
            }
        }
        handlers[endpoint.id] = Handler(endpoint: endpoint, typed: stream) { incoming in
            let request = try endpoint.request(incoming)
            if incoming.isFromBrowser { try check(request) }
            return .lines(endpoint.pace(request)) { writer in
                try await stream.body(request) { try await writer.write($0) }
            }
        }
    }

    /// For bytes, which `Bytes` reads.
    private mutating func on<Request>(
        _ endpoint: Endpoint<Request, [UInt8]>, reads subject: @escaping @Sendable (Request) -> EndpointReply
    ) {
        handlers[endpoint.id] = Handler(endpoint: endpoint, typed: nil) { subject(try endpoint.request($0)) }
    }

    // MARK: asking

    /// Checks a request and has its handler answer it.
    ///
    /// - Throws: `ControlError` (`notFound` without a handler, what the check refuses); what `failure` makes of the
    ///   handler's error; `CancellationError`.
    @discardableResult
    package func call<Request, Answer>(
        _ endpoint: Endpoint<Request, Answer>, _ request: Request
    ) async throws -> Answer {
        guard let run = handlers[endpoint.id]?.typed as? Run<Request, Answer> else {
            throw Self.nothing(at: endpoint.id.path)
        }
        try endpoint.check(request)
        return try await run.body(request)
    }

    /// Checks a request and has its handler emit the elements.
    ///
    /// - Throws: as the other `call`; what `emit` throws.
    package func call<Request, Element>(
        _ endpoint: Endpoint<Request, Lines<Element>>, _ request: Request,
        emit: @Sendable (Element) async throws -> Void
    ) async throws {
        guard let stream = handlers[endpoint.id]?.typed as? Stream<Request, Element> else {
            throw Self.nothing(at: endpoint.id.path)
        }
        try endpoint.check(request)
        try await stream.body(request, emit)
    }

    /// Reads a file as `AgentControl` says.
    ///
    /// - Throws: what `failure` makes of the handler's error; what `start` and `emit` throw; `CancellationError`.
    package func read(
        _ path: PathReference, range: ByteRange?, start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await relay(bytes.read, path, range, start, emit)
    }

    /// Reads a file in an archive as `AgentControl` says.
    ///
    /// - Throws: what `failure` makes of the handler's error; what `start` and `emit` throw; `CancellationError`.
    package func readMember(
        _ member: MemberReference, range: ByteRange?,
        start: @Sendable (MemberFacts, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await relay(bytes.readMember, member, range, start, emit)
    }

    /// Gives the facts of a file in an archive.
    ///
    /// - Throws: what `failure` makes of the handler's error; `CancellationError`.
    package func memberFacts(_ member: MemberReference) async throws -> MemberFacts {
        try await Self.answering(failure) { _ in try await bytes.memberFacts(member) }
    }

    private func relay<Subject, Facts>(
        _ read: @escaping Bytes.Read<Subject, Facts>, _ subject: Subject, _ range: ByteRange?,
        _ start: @Sendable (Facts, ClosedRange<Int64>?) async throws -> Void,
        _ emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await Self.answering(failure) { receiver in
            try await read(subject, range) { facts, part in
                try await receiver.take { try await start(facts, part) }
            } _: { bytes in
                try await receiver.take { try await emit(bytes) }
            }
        }
    }

    // MARK: errors

    /// Runs a handler and replaces its error by the one that the client gets.
    private static func answering<Answer>(
        _ failure: (any Error) -> any Error, _ run: (Receiver) async throws -> Answer
    ) async throws -> Answer {
        let receiver = Receiver()
        do {
            return try await run(receiver)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw receiver.error ?? failure(error)
        }
    }
}

/// Who takes what a handler emits. Its own error ends the handler, and is not the handler's.
private final class Receiver: Sendable {
    private let thrown = Mutex<(any Error)?>(nil)

    var error: (any Error)? { thrown.withLock { $0 } }

    func take(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            thrown.withLock { $0 = error }
            throw error
        }
    }
}

// MARK: - Routing

/// A request that has been read, and what answers it.
package struct RoutedRequest: Sendable {
    package var endpoint: any AnyEndpoint
    package var query: RequestQuery
    package var reply: EndpointReply
}

/// What is to be done for a request.
package enum EndpointReply: Sendable {
    /// A document or bytes, ready to be sent.
    case document(@Sendable () async throws -> [UInt8])
    case lines(LinePace, @Sendable (any LineWriter) async throws -> Void)
    case file(PathReference)
    case member(MemberReference)
}

/// Takes the lines of an answer, whatever they are.
package protocol LineWriter: Sendable {
    /// Takes the next line and returns when there is room for another.
    ///
    /// - Throws: `ControlError` if the line cannot be written as JSON; what the receiver throws to end the stream.
    func write(_ line: some ControlLine) async throws
}

extension EndpointHandlers {
    /// Finds what a request is for and reads it.
    ///
    /// - Parameters:
    ///   - isFromBrowser: whether it came over TCP, with the cookie of a login.
    ///   - session: what that login is called.
    /// - Throws: `notFound`, `methodNotAllowed`, `tooLarge` or `invalidRequest`; what the endpoint refuses a browser.
    package func route(
        method: String, target: String, body: [UInt8], isFromBrowser: Bool = false, session: String? = nil
    ) throws -> RoutedRequest {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = try RequestQuery(encoded: parts.count > 1 ? String(parts[1]) : "")
        let (path, number) = try Self.pattern(String(parts.first ?? ""))
        guard handlers.keys.contains(where: { $0.path == path }) else {
            throw Self.nothing(at: path)
        }
        let candidates = handlers.filter { $0.key.path == path && $0.key.method.rawValue == method }
        let chosen = candidates.first { id, _ in id.names.contains { query[$0] != nil } }
        guard let handler = (chosen ?? candidates.first { $0.key.names.isEmpty })?.value else {
            let subject = number == nil ? path : "A job"
            throw ControlError(.methodNotAllowed, "\(subject) does not support \(method); see docs/control-api.md.")
        }
        let incoming = IncomingRequest(
            query: query, body: body, number: number, isFromBrowser: isFromBrowser, session: session)
        let reply = try handler.reply(incoming)
        return RoutedRequest(endpoint: handler.endpoint, query: query, reply: reply)
    }

    private static func pattern(_ path: String) throws(ControlError) -> (path: String, number: Int?) {
        let pattern = Endpoints.job.id.path
        let prefix = pattern.dropLast("{id}".count)
        guard path.hasPrefix(prefix) else { return (path, nil) }
        guard let number = Int(path.dropFirst(prefix.count)), number > 0 else {
            throw ControlError(.notFound, "\(path.prefix(80)) is not a job; /v1/jobs lists the jobs.")
        }
        return (pattern, number)
    }

    private static func nothing(at path: String) -> ControlError {
        ControlError(.notFound, "No such resource: \(path); see docs/control-api.md.")
    }
}
