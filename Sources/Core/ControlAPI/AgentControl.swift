/// An agent that can be asked: one in this process (`EndpointHandlers`) or, over its socket, another one (`ControlClient`).
///
/// `Endpoints` says what each verb does and throws.
package protocol AgentControl: Sendable {
    /// Asks for something and gives the answer.
    ///
    /// - Throws: `ControlError`; `CancellationError`.
    @discardableResult
    func call<Request, Answer>(_ endpoint: Endpoint<Request, Answer>, _ request: Request) async throws -> Answer
    /// Asks for a stream, whose elements `emit` gets one after the other.
    ///
    /// - Throws: `ControlError`, also after some elements; what `emit` throws; `CancellationError`.
    func call<Request, Element>(
        _ endpoint: Endpoint<Request, Lines<Element>>, _ request: Request,
        emit: @Sendable (Element) async throws -> Void
    ) async throws
    /// The bytes of a file's global version. `range` counts from 0, both ends included, an end beyond the file is cut;
    /// nil is all of it. `start` is called once, before the first bytes, with the entry and the range that follows (nil for
    /// an empty file). Every chunk has been verified against its block's hash.
    ///
    /// - Throws: `ControlError`, also after some bytes; what `start` and `emit` throw; `CancellationError`.
    func read(
        _ path: PathReference, range: ByteRange?, start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws
    /// As `read`, of a file in an archive; the range of a member that is not seekable is ignored. The last bytes of a
    /// zip's whole member come when its checksum was right, else `failed` is thrown.
    ///
    /// - Throws: `ControlError`, also after some bytes; what `start` and `emit` throw; `CancellationError`.
    func readMember(
        _ member: MemberReference, range: ByteRange?,
        start: @Sendable (MemberFacts, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws
    /// How large a file in an archive is, and whether parts of it can be read.
    ///
    /// - Throws: `ControlError`; `CancellationError`.
    func memberFacts(_ member: MemberReference) async throws -> MemberFacts
}

extension AgentControl {
    /// Asks for something that needs no request.
    ///
    /// - Throws: `ControlError`; `CancellationError`.
    @discardableResult
    package func call<Answer>(_ endpoint: Endpoint<Void, Answer>) async throws -> Answer {
        try await call(endpoint, ())
    }

    /// Asks for a stream that needs no request.
    ///
    /// - Throws: `ControlError`, also after some elements; what `emit` throws; `CancellationError`.
    package func call<Element>(
        _ endpoint: Endpoint<Void, Lines<Element>>, emit: @Sendable (Element) async throws -> Void
    ) async throws {
        try await call(endpoint, (), emit: emit)
    }
}
