/// Something long that was asked for with `Prefer: respond-async` and goes on without its request.
package struct Job: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable, CaseIterable { case running, done, failed, cancelled }

    package var id: Int
    /// What was asked: the path behind `/v1/`.
    package var kind: String
    package var state: State
    /// What it said last on its way.
    package var progress: FetchEvent?
    package var error: ControlError?
    /// Seconds since 1970.
    package var begun: Int64
    package var ended: Int64?

    package init(id: Int, kind: String, begun: Int64) {
        self.id = id
        self.kind = kind
        state = .running
        self.begun = begun
    }
}
