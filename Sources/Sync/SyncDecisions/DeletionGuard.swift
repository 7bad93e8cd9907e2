import BlockExchange
import Names

/// Tells deletions that somebody means from those that look like an accident: pure, so that its rules can be read and
/// tested as a table.
///
/// The watcher reports a large deletion in pieces, the first of which may be of one name. So deletions are taken for
/// meant only once no more come, and what was deleted in the last minute counts as well. A name counts once, however often
/// it comes and goes: a build that is cleaned again and again is no accident. A deletion of many names may take longer than
/// a minute: as long as no five minutes pass without one, what the folder has shrunk by counts (`DeletionRun`).
package struct DeletionGuard: Sendable {
    package enum Verdict: Equatable, Sendable {
        case proceed
        /// More may be on its way: look again then.
        case wait(until: MonotonicTime)
        /// This was a look at a part only, and too much is gone to judge by that.
        case lookAtEverything
        /// All names are gone.
        case rootEmptied
        /// So many of so many names are gone.
        case massDeletion(lost: Int, of: Int)
    }

    /// What is deleted.
    package enum Scope: CaseIterable, Sendable {
        /// Names on this disk.
        case here
        /// Names that other devices have and this one does not.
        case elsewhere
    }

    /// A folder that loses more than half of its names halts, if they are more than this.
    package static let massFloor = 100
    /// A root that loses everything halts, if it held at least so many names.
    static let emptiedFloor = 3
    package static let window: Duration = .seconds(60)
    /// How long no more may go before those that are gone are judged, and how long that is waited for.
    package static let pause: Duration = .milliseconds(500)
    package static let patience: Duration = .seconds(5)

    /// Of more names than this that are gone in one look, the number alone is remembered.
    private static let nameLimit = 100_000

    /// What one look took for deleted.
    private struct Loss {
        var time: MonotonicTime
        /// The names that were gone, those that were renamed included; nil where they were too many to remember.
        var names: Set<NameKey>?
        /// How many of them were lost.
        var count: Int

        /// These are not gone, or are counted elsewhere.
        mutating func remove(_ other: some Sequence<String>) {
            guard var names else { return }
            names.subtract(other.lazy.map { NameKey($0) })
            count = min(count, names.count)
            self.names = names
        }
    }

    private var waiting: (since: MonotonicTime, until: MonotonicTime)?
    private var recent: [Loss] = []
    /// Of the names on this disk, and of all names.
    private var runs: [Scope: DeletionRun] = [:]

    package init(waiting: (since: MonotonicTime, until: MonotonicTime)? = nil) {
        self.waiting = waiting
    }

    /// - Parameters:
    ///   - gone: names that a look found gone.
    ///   - lost: how many of them, less those that it found new: what was renamed is not lost.
    ///   - known: names that the index has on this disk, or of all names for those that are elsewhere; `lost` included.
    ///   - isRootEmpty: whether nothing is left on this disk.
    ///   - isWhole: whether the look was at the whole folder.
    ///   - mayWait: false if somebody asked for the look.
    ///   - isHeld: whether deletions are held back already: what comes into the root meanwhile confirms none of them.
    package mutating func verdict(
        gone: some Sequence<String>, lost: Int, known: Int, isRootEmpty: Bool, isWhole: Bool, mayWait: Bool,
        isHeld: Bool = false, in scope: Scope = .here, at now: MonotonicTime
    ) -> Verdict {
        if mayWait, !isWhole, lost > 0 {
            // A wait that ended long ago was for others.
            let since = waiting.flatMap { now - $0.until > Self.patience ? nil : $0.since } ?? now
            let isOver = waiting.map { since != now && (now >= $0.until || now - since > Self.patience) } ?? false
            guard isOver else {
                let due = now + Self.pause
                waiting = (since, due)
                return .wait(until: due)
            }
        }
        waiting = nil
        recent.removeAll { now - $0.time > Self.window }
        returned(gone)
        runs[scope, default: DeletionRun()].see(known: known, at: now)
        let lately = recent.reduce(0) { $0 + $1.count }
        if isRootEmpty, known + lately >= Self.emptiedFloor { return isWhole ? .rootEmptied : .lookAtEverything }
        let before = max(lately, runs[scope]?.lost ?? 0)
        let (all, total) = (lost + before, known + before)
        // What was only renamed is told at once, whatever was deleted before: else its new name would go out alone.
        guard lost > 0, isHeld || all > Self.massFloor else { return .proceed }
        if isHeld, isWhole { return .massDeletion(lost: all, of: total) }
        if all > total / 2 { return .massDeletion(lost: all, of: total) }
        return isWhole ? .proceed : .lookAtEverything
    }

    /// `lost` of the names in `gone` are taken for deleted.
    package mutating func noted(
        gone: some Collection<String>, lost: Int, in scope: Scope = .here, at now: MonotonicTime
    ) {
        guard lost > 0 else { return }
        recent.append(Loss(time: now, names: gone.count > Self.nameLimit ? nil : Set(names: gone), count: lost))
        // What goes on this disk goes everywhere.
        for counted in Scope.allCases where counted == scope || counted == .elsewhere {
            runs[counted, default: DeletionRun()].add(lost, at: now)
        }
    }

    /// These names are on this disk again, or are to be counted again.
    package mutating func returned(_ names: some Sequence<String>) {
        guard !recent.isEmpty else { return }
        for index in recent.indices { recent[index].remove(names) }
        recent.removeAll { $0.count == 0 }
    }

    /// What was deleted so far was meant, or was undone.
    package mutating func reset() { (recent, runs) = ([], [:]) }
}
