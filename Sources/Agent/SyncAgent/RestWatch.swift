/// Tells when work is over and its memory is worth giving back. Looks every few seconds while there is something to
/// give, twice a minute when there is not.
package struct RestWatch: Sendable {
    /// What the process has used so far.
    package struct Usage: Equatable, Sendable {
        package var processorTime: Duration
        /// Page faults: each brought a page into memory, and some neighbours with it.
        package var pageFaults: Int

        package init(processorTime: Duration, pageFaults: Int) {
            self.processorTime = processorTime
            self.pageFaults = pageFaults
        }
    }

    private static let firstPause: Duration = .seconds(3)
    private static let watchfulPause: Duration = .seconds(5)
    private static let restfulPause: Duration = .seconds(30)
    /// More page faults than this are worth a release: some megabytes. What an idle link needs for its pings is less.
    private static let worthwhileFaults = 128
    /// Less than one part in so many of the time is rest.
    private static let restShare = 500

    /// How long to wait before the next question.
    package private(set) var pause = firstPause
    private var before: Usage
    private var atRelease: Usage

    package init(_ usage: Usage) { (before, atRelease) = (usage, usage) }

    /// Whether it is time to give memory back; `usage` is what was used so far.
    package mutating func isReleaseDue(_ usage: Usage) -> Bool {
        // Starting has brought in more than it shows.
        let isFirst = pause == Self.firstPause
        let isWorthwhile = isFirst || usage.pageFaults - atRelease.pageFaults > Self.worthwhileFaults
        let isAtRest = isFirst || (usage.processorTime - before.processorTime) * Self.restShare < pause
        before = usage
        pause = isWorthwhile ? Self.watchfulPause : Self.restfulPause
        return isWorthwhile && isAtRest
    }

    package mutating func released(_ usage: Usage) {
        (before, atRelease) = (usage, usage)
        // What follows a start, or a burst of work, is seldom all there at once.
        pause = Self.watchfulPause
    }
}
