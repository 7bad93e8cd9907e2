/// Something long that was asked for with `Prefer: respond-async` and goes on without its request.
public struct Job: Codable, Equatable, Sendable {
    public enum State: String, Codable, Sendable, CaseIterable { case running, done, failed, cancelled }

    public var id: Int
    /// What was asked: the path behind `/v1/`.
    public var kind: String
    public var state: State
    /// What it said last on its way.
    public var progress: FetchEvent?
    public var error: ControlError?
    /// Seconds since 1970.
    public var begun: Int64
    public var ended: Int64?

    public init(id: Int, kind: String, begun: Int64) {
        self.id = id
        self.kind = kind
        state = .running
        self.begun = begun
    }
}
