/// Tells from the processor time used so far when work is over. Looks every few seconds while there is something to give
/// back, once a minute when there is not.
public struct RestWatch: Sendable {
    private static let firstPause: Duration = .seconds(3)
    private static let watchfulPause: Duration = .seconds(5)
    private static let restfulPause: Duration = .seconds(60)
    /// What was used since the last release is worth another one.
    private static let work: Duration = .milliseconds(50)
    /// Less than one part in so many of the time is rest.
    private static let restShare = 500

    /// How long to wait before the next question.
    public private(set) var pause = firstPause
    private var usedAtRelease = Duration.zero
    private var usedBefore: Duration

    public init(used: Duration) { usedBefore = used }

    /// Whether it is time to give memory back; `used` is the processor time used so far.
    public mutating func isReleaseDue(used: Duration) -> Bool {
        let hasWorked = used - usedAtRelease > Self.work
        let isAtRest = pause == Self.firstPause || (used - usedBefore) * Self.restShare < pause
        usedBefore = used
        pause = hasWorked ? Self.watchfulPause : Self.restfulPause
        return hasWorked && isAtRest
    }

    public mutating func released(used: Duration) {
        (usedAtRelease, usedBefore) = (used, used)
        pause = Self.restfulPause
    }
}
