import Names

/// Which small files a program that reads one after the other will read next: it is worth getting them before it opens them. Pure.
///
/// A run begins when a program has read three small files of one directory that follow each other in its order, in any order
/// among themselves. Each file of the run that is read doubles how many are ahead, up to a limit of count and bytes. A file that
/// is not one of those ahead ends it. A run that has just come to the end of its directory lets the next directory begin with its
/// first file.
package struct ReadingAhead {
    /// Names of a directory that are to be listed.
    package struct Question: Hashable, Sendable {
        package var directory: String
        /// The first name is the one behind this.
        package var after: String?
    }

    /// A small file that is not here.
    package struct Candidate: Equatable, Sendable {
        package var name: String
        package var size: Int64

        package init(name: String, size: Int64) {
            self.name = name
            self.size = size
        }
    }

    /// What a directory lists behind the name that was asked for, in its order.
    package struct Listing: Equatable, Sendable {
        package var candidates: [Candidate]
        /// The last name of all that were looked at; nil if there is none.
        package var last: String?
        package var isAtEnd: Bool

        package init(candidates: [Candidate], last: String?, isAtEnd: Bool) {
            self.candidates = candidates
            self.last = last
            self.isAtEnd = isAtEnd
        }
    }

    /// Larger files are read by themselves: those up to here are one block, whatever its size.
    package static let fileByteLimit: Int64 = 128 << 10
    /// How many files of a directory are got before they are read.
    package static let countLimit = 64
    package static let byteLimit: Int64 = 4 << 20
    private static let firstWindow = 8
    private static let beginning = 3
    /// The files of a beginning are among so many that follow each other.
    private static let beginningReach = 6
    private static let directoryLimit = 16
    /// How long the end of a directory counts for the next one.
    private static let trust = Duration.seconds(1)
    /// Names that may be read again, or have been read while their directory was listed.
    private static let recentLimit = 128

    private struct Run {
        /// What was read before it is known whether this is a run.
        var first: [String] = []
        var isRun = false
        var isAsking = false
        var ahead: [NameKey: Int64] = [:]
        /// All names up to here were looked at.
        var frontier: String?
        var isAtEnd = false
        var window = firstWindow
        var recent: [String] = []
        var lastUse = 0
    }

    private var runs: [NameKey: Run] = [:]
    private var uses = 0
    /// When the last run came to the end of its directory; nil if it did not.
    private var endedAt: Duration?

    package init() {}

    /// A program reads a small file that is not here, from its beginning. What is to be listed for that, if anything.
    package mutating func read(_ name: String, in directory: String, at now: Duration) -> Question? {
        var run = runs[directory] ?? Run()
        uses += 1
        run.lastUse = uses
        defer {
            runs[directory] = run
            forgetDirectories()
        }
        let isAgain = run.recent.contains(name)
        if !isAgain { run.recent = (run.recent + [name]).suffix(Self.recentLimit) }
        if run.isRun {
            if run.ahead.removeValue(forKey: NameKey(name)) != nil {
                run.window = min(run.window * 2, Self.countLimit)
                if run.isAtEnd, run.ahead.isEmpty { endedAt = now }
                return more(&run, directory)
            }
            // One that was read already, or was being read while the directory was listed.
            if isAgain || run.isAsking { return nil }
            run = Run(recent: [name], lastUse: uses)
            endedAt = nil
        }
        guard !isAgain, !run.isAsking else { return nil }
        run.first.append(name)
        if let ended = endedAt {
            endedAt = nil
            guard now - ended < Self.trust else { return nil }
            run.isRun = true
            run.frontier = name
            return more(&run, directory)
        }
        guard run.first.count >= Self.beginning else { return nil }
        run.first = run.first.suffix(Self.beginning)
        // What is read backwards has been read where a run would go on.
        guard let first = run.first.first, Self.precedes(first, name) else { return nil }
        run.isAsking = true
        return Question(directory: directory, after: run.first.min(by: Self.precedes))
    }

    /// What was asked for has been listed. The names of the files to get now.
    package mutating func listed(_ question: Question, _ listing: Listing, at now: Duration) -> [String] {
        guard var run = runs[question.directory], run.isAsking else { return [] }
        run.isAsking = false
        defer { runs[question.directory] = run }
        if !run.isRun {
            let following = listing.candidates.prefix(Self.beginningReach).map(\.name)
            guard run.first.allSatisfy({ $0 == question.after || following.contains($0) }) else {
                run.first = []
                return []
            }
            run.isRun = true
        }
        var (taken, bytes) = ([String](), run.ahead.values.reduce(0, +))
        for candidate in listing.candidates {
            guard !run.recent.contains(candidate.name) else {
                run.frontier = candidate.name
                continue
            }
            let (sum, isHuge) = bytes.addingReportingOverflow(max(0, candidate.size))
            guard run.ahead.count < run.window, !isHuge, sum <= Self.byteLimit else { return taken }
            bytes = sum
            run.ahead[candidate.name] = max(0, candidate.size)
            run.frontier = candidate.name
            taken.append(candidate.name)
        }
        run.frontier = listing.last ?? run.frontier
        run.isAtEnd = listing.isAtEnd
        if run.isAtEnd, run.ahead.isEmpty { endedAt = now }
        return taken
    }

    /// The directory could not be listed, or what it lists cannot be got.
    package mutating func failed(_ question: Question) {
        runs[question.directory] = nil
        endedAt = nil
    }

    /// The next question of a run, once half of what was ahead is read.
    private func more(_ run: inout Run, _ directory: String) -> Question? {
        guard !run.isAtEnd, !run.isAsking, run.ahead.count * 2 <= run.window else { return nil }
        run.isAsking = true
        return Question(directory: directory, after: run.frontier)
    }

    private mutating func forgetDirectories() {
        while runs.count > Self.directoryLimit, let oldest = runs.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            runs[oldest.key] = nil
        }
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
