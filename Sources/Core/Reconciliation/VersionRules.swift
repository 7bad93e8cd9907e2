import Arithmetic

/// What a folder keeps of what other devices replace or delete, and how long: Syncthing's rules.
package enum VersionRules: Hashable, Sendable {
    /// The last version of each name, under its own name. After so many days it goes; 0 keeps it.
    case trashcan(cleanoutDays: Int)
    /// The last `keep` versions of each name, and none that is older than `cleanoutDays`, if that is not 0.
    case simple(keep: Int, cleanoutDays: Int)
    /// Fewer the older they are: one for every 30 seconds of the last hour, for every hour of the last day, for every day
    /// of the last 30 days, and for every week of the time before. None that is older than so many days; 0 keeps them.
    case staggered(maximumAgeDays: Int)

    private static let secondsPerDay: Int64 = 86_400

    /// Whether versions have the time in their names.
    package var isTagging: Bool {
        switch self {
        case .trashcan: false
        case .simple, .staggered: true
        }
    }

    /// Whether what has one age was archived before what has the other, as far as one can know: what claims to come from the
    /// future was archived before the clock was set back, and so before everything else.
    ///
    /// - parameters: seconds since each was archived; below zero for what comes from the future.
    package static func isOlder(_ age: Int64, than other: Int64) -> Bool {
        // Names of one second follow one another, and so go a little ahead of the clock.
        let (isAhead, isOtherAhead) = (age < -10, other < -10)
        return isAhead == isOtherAhead ? age > other : isAhead
    }

    /// Which of the versions of one name go: positions in `ages`.
    ///
    /// - parameters:
    ///   - ages: seconds since each was archived, in any order; below zero for what comes from the future.
    ///   - keeping: positions of what was archived last, whatever its age says. It stays.
    package func dropped(ages: [Int64], keeping: Set<Int> = []) -> [Int] {
        let oldestFirst = ages.indices.filter { !keeping.contains($0) }.sorted { (ages[$0], $1) > (ages[$1], $0) }
        switch self {
        case .trashcan(let days): return oldestFirst.filter { Self.isOver(ages[$0], days: days) }
        case .simple(let keep, let days):
            let surplus = ages.count - max(1, keep)
            return oldestFirst.sorted { Self.isOlder(ages[$0], than: ages[$1]) }.enumerated().filter { rank, index in
                rank < surplus || Self.isOver(ages[index], days: days)
            }.map(\.element)
        case .staggered(let days):
            var dropped: [Int] = []
            var previous: Int64?
            for index in oldestFirst {
                let age = ages[index]
                if Self.isOver(age, days: days) {
                    dropped.append(index)
                } else if let last = previous, last.subtractingClamped(age) < Self.distance(at: age) {
                    dropped.append(index)
                } else {
                    previous = age
                }
            }
            return dropped
        }
    }

    private static func isOver(_ age: Int64, days: Int) -> Bool {
        days > 0 && age > Int64(clamping: days).multipliedReportingOverflow(by: secondsPerDay).partialValue
    }

    /// Seconds between one version that is kept and the next, where that is of this age.
    private static func distance(at age: Int64) -> Int64 {
        switch age {
        case ..<3600: 30
        case ..<secondsPerDay: 3600
        case ..<(30 * secondsPerDay): secondsPerDay
        default: 7 * secondsPerDay
        }
    }
}
