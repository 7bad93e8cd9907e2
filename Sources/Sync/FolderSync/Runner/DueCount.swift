import BlockExchange

/// When something of a folder is counted that costs a pass over it: once for all that follows within a pause. What a count costs is paid
/// for by a longer pause before the next one, but people are told within a minute. Pure.
struct DueCount: Sendable {
    private static let lastPause: Duration = .seconds(50)
    private static let patience = 20

    private let firstPause: Duration
    private var pause: Duration
    private(set) var due: MonotonicTime?

    init(firstPause: Duration) { (self.firstPause, pause) = (firstPause, firstPause) }

    /// It changed, and may change more.
    mutating func soon(at now: MonotonicTime) { due = due ?? now + pause }

    /// Whether it is to be counted now.
    mutating func take(at now: MonotonicTime) -> Bool {
        guard let due, now >= due else { return false }
        self.due = nil
        return true
    }

    /// It was counted, which took so long.
    mutating func counted(in cost: Duration) { pause = min(Self.lastPause, max(firstPause, cost * Self.patience)) }

    mutating func forget() { due = nil }
}
