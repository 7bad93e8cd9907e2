import FileAccess
import IndexStore
import Synchronization

/// Why a folder is at a standstill: a word for programs, and a sentence for people that ends with the remedy.
struct FolderHalt: Error, Equatable, Sendable, CustomStringConvertible {
    enum Reason: String, Sendable {
        case rootMissing = "halted-root-missing"
        case markerMissing = "halted-marker-missing"
        case rootEmptied = "halted-root-emptied"
        case massDeletion = "halted-mass-delete"
        case selection = "selection-error"
        case error = "error"
    }

    var reason: Reason
    var message: String

    var description: String { message }
}

/// What a folder's engine is at, for those who ask; written by the engine alone.
final class FolderActivity: Sendable {
    struct Problem: Equatable, Sendable {
        var path: String
        var message: String
    }

    /// What may not come over the links there are.
    struct Waiting: Equatable, Sendable {
        var files: Int64 = 0
        var bytes: Int64 = 0
        /// Of the first of them.
        var obstacle: LinkObstacle

        static func add(_ bytes: Int64, _ obstacle: LinkObstacle, to waiting: inout Waiting?) {
            var sum = waiting ?? Waiting(obstacle: obstacle)
            sum.files += 1
            sum.bytes += bytes
            waiting = sum
        }
    }

    struct Snapshot: Sendable {
        /// Whether the folder was looked at since it was started.
        var hasLooked = false
        var isScanning = false
        var isSyncing = false
        var halt: FolderHalt?
        /// By name; at most `problemLimit` of them.
        var problems: [String: String] = [:]
        /// Further names that something is wrong with, of which only that is known; at most `nameLimit`.
        var furtherProblems: Set<String> = []
        var isShortOfSpace = false
        var need = NeededTotals()
        var waiting: Waiting?
        /// Who holds what is needed, so far as it was looked at.
        var lacks: [FolderOutlook.Lack] = []
        /// Names on this disk that are not selected, so far as they were counted.
        var extraneous: Int64 = 0
        var conflicts: Int64 = 0
        /// Deletions that a halt holds back.
        var heldDeletions: Int64 = 0
        /// When the last look at the whole folder ended.
        var lastScan: WallTime?
        var watch = (state: "off", message: String?.none, watched: 0)

        /// Names that something is wrong with, each once.
        var problemCount: Int { problems.count + furtherProblems.count }

        /// In the order of their names.
        func firstProblems(_ count: Int) -> [Problem] {
            problems.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.prefix(count).map {
                Problem(path: $0.key, message: $0.value)
            }
        }
    }

    private static let problemLimit = 1000
    private static let nameLimit = 100_000

    private let state = Mutex(Snapshot())

    var snapshot: Snapshot { state.withLock { $0 } }

    func set(hasLooked: Bool) { state.withLock { $0.hasLooked = hasLooked } }
    func set(isScanning: Bool) { state.withLock { $0.isScanning = isScanning } }
    func set(isSyncing: Bool) { state.withLock { $0.isSyncing = isSyncing } }
    func set(halt: FolderHalt?) { state.withLock { $0.halt = halt } }
    func set(need: NeededTotals) { state.withLock { $0.need = need } }
    func set(waiting: Waiting?) { state.withLock { $0.waiting = waiting } }
    func set(lacks: [FolderOutlook.Lack]) { state.withLock { $0.lacks = lacks } }
    func set(extraneous: Int64) { state.withLock { $0.extraneous = extraneous } }
    func set(conflicts: Int64) { state.withLock { $0.conflicts = conflicts } }
    func set(heldDeletions: Int64) { state.withLock { $0.heldDeletions = heldDeletions } }
    func set(lastScan: WallTime) { state.withLock { $0.lastScan = lastScan } }
    func set(isShortOfSpace: Bool) { state.withLock { $0.isShortOfSpace = isShortOfSpace } }
    func setWatch(_ watchState: String, _ message: String? = nil, watched: Int = 0) {
        state.withLock { $0.watch = (watchState, message, watched) }
    }

    func note(_ message: String, at path: String) {
        state.withLock { state in
            if state.problems[path] != nil || state.problems.count < Self.problemLimit {
                state.problems[path] = message
                state.furtherProblems.remove(path)
            } else if state.furtherProblems.count < Self.nameLimit {
                state.furtherProblems.insert(path)
            }
        }
    }

    /// The problems of a name are over.
    func clear(_ path: String) {
        state.withLock { state in
            state.problems[path] = nil
            state.furtherProblems.remove(path)
        }
    }

    /// What was said of these names and all below them is about to be found out anew; nil for everything.
    func forgetProblems(below paths: [RelativePath]?) {
        state.withLock { state in
            guard let paths else {
                state.problems = [:]
                state.furtherProblems = []
                return
            }
            let chosen = Set(paths.map(\.text))
            func isBelow(_ name: String) -> Bool {
                chosen.contains(name)
                    || name.utf8.indices.contains { index in
                        name.utf8[index] == UInt8(ascii: "/") && chosen.contains(String(name[..<index]))
                    }
            }
            state.problems = state.problems.filter { name, _ in !isBelow(name) }
            state.furtherProblems = state.furtherProblems.filter { !isBelow($0) }
        }
    }
}
