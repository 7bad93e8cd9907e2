import BlockExchange

/// Deletions that follow each other without a pause, less what came meanwhile: how much a folder has shrunk by them. Pure.
///
/// Files that come and go, as in a queue or where a build is cleaned again and again, are no loss however many there were. A run takes
/// no memory for each name, and so may last.
struct DeletionRun: Sendable {
    /// So long without a deletion ends it.
    static let pause: Duration = .seconds(300)

    /// How many were lost.
    private(set) var lost = 0
    /// How many there are in the folder by what was said last; nil for a run that nobody has said it of.
    private var known: Int?
    private var last: MonotonicTime?

    /// The folder has so many. Those that it has not had before stand for as many that were lost.
    mutating func see(known: Int, at now: MonotonicTime) {
        endIfOver(at: now)
        lost = max(0, lost - max(0, known - (self.known ?? known)))
        self.known = known
    }

    /// So many are deleted.
    mutating func add(_ count: Int, at now: MonotonicTime) {
        endIfOver(at: now)
        last = now
        lost += count
        known = known.map { max(0, $0 - count) }
    }

    private mutating func endIfOver(at now: MonotonicTime) {
        if let last, now - last > Self.pause { self = DeletionRun() }
    }
}
