import ControlAPI

/// What the server answers from that is not the agent's.
package struct ServerSurroundings: Sendable {
    /// The agent's log.
    package var records: RecordRing
    /// Told of each change of a job.
    package var announce: @Sendable (Job) -> Void
    /// The modules of a QR code for a text, rows from the top, true for dark.
    package var code: @Sendable (String) throws -> [[Bool]]
    /// Seconds since 1970.
    package var now: @Sendable () -> Int64

    package init(
        records: RecordRing = RecordRing(), announce: @escaping @Sendable (Job) -> Void = { _ in },
        code: @escaping @Sendable (String) throws -> [[Bool]] = { _ in [[]] },
        now: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        self.records = records
        self.announce = announce
        self.code = code
        self.now = now
    }
}
