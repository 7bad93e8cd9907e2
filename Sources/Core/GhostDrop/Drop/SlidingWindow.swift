/// Which chunks were sent and not acknowledged, as GhostDrop v1 counts them.
struct SlidingWindow: Sendable {
    let limit: Int
    private(set) var sentAt: [UInt64: Duration] = [:]

    init(limit: Int) { self.limit = max(1, limit) }

    var hasRoom: Bool { sentAt.count < limit }
    var inFlightCount: Int { sentAt.count }

    /// Notes a chunk as sent, or as sent again.
    mutating func sent(_ sequence: UInt64, at time: Duration) { sentAt[sequence] = time }

    /// Removes what is acknowledged; what is to be sent again, in order.
    mutating func acknowledge(cumulative: UInt64, missing: UInt64) -> [UInt64] {
        sentAt = sentAt.filter { $0.key > cumulative }
        return (0..<64).compactMap { bit in
            let (sequence, overflow) = cumulative.addingReportingOverflow(1 + UInt64(bit))
            guard !overflow, missing & 1 << UInt64(bit) != 0, sentAt[sequence] != nil else { return nil }
            return sequence
        }
    }

    /// What was sent `timeout` ago or earlier, in order.
    func overdue(at now: Duration, timeout: Duration) -> [UInt64] {
        sentAt.filter { now - $0.value >= timeout }.keys.sorted()
    }

    /// When the first of them is overdue.
    func nextDeadline(timeout: Duration) -> Duration? { sentAt.values.min().map { $0 + timeout } }
}
