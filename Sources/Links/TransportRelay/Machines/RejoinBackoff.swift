/// How long to wait before a relay is tried again: 1, 2, 4, … 60 s, each shortened by up to a half by chance, as all
/// devices of a relay that restarts come back at the same time.
///
/// With 60 s at most between two tries and 10 s at most for one that finds nobody, a device is back within 90 s of a
/// relay's return.
package struct RejoinBackoff: Equatable, Sendable {
    package static let longest = Duration.seconds(60)
    /// Who was joined for so long starts from the beginning.
    package static let proven = Duration.seconds(60)

    private var failureCount = 0

    package init() {}

    /// - Parameter random: uniform in 0..<1.
    package mutating func next(random: Double) -> Duration {
        let whole = failureCount < 6 ? Duration.seconds(1 << failureCount) : Self.longest
        failureCount = min(failureCount + 1, 6)
        return whole * (1 - 0.5 * min(max(random, 0), 1))
    }

    package mutating func reset() { failureCount = 0 }
}
