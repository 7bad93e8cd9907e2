import FileAccess
import FolderWatcher
import IndexStore
import Logging
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

/// What a folder is at, for those who ask; written by its runner alone.
final class FolderStatusBoard: Sendable {
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
        /// Whether the folder was scanned since it was started.
        var hasScanned = false
        var isScanning = false
        var isSyncing = false
        var halt: FolderHalt?
        /// By name; at most `problemLimit` of them are kept, the others counted.
        var problems: [String: String] = [:]
        var problemsBeyondLimit = 0
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

        var problemCount: Int { problems.count + problemsBeyondLimit }

        /// In the order of their names.
        func firstProblems(_ count: Int) -> [Problem] {
            problems.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.prefix(count).map {
                Problem(path: $0.key, message: $0.value)
            }
        }
    }

    private static let problemLimit = 1000

    private let state = Mutex(Snapshot())

    var snapshot: Snapshot { state.withLock { $0 } }

    func set(hasScanned: Bool) { state.withLock { $0.hasScanned = hasScanned } }
    func set(isScanning: Bool) { state.withLock { $0.isScanning = isScanning } }
    func set(isSyncing: Bool) { state.withLock { $0.isSyncing = isSyncing } }
    func set(halt: FolderHalt?) { state.withLock { $0.halt = halt } }
    func set(waiting: Waiting?) { state.withLock { $0.waiting = waiting } }
    func set(extraneous: Int64) { state.withLock { $0.extraneous = extraneous } }
    func set(conflicts: Int64) { state.withLock { $0.conflicts = conflicts } }
    func set(isShortOfSpace: Bool) { state.withLock { $0.isShortOfSpace = isShortOfSpace } }
    func setWatch(_ watchState: String, _ message: String? = nil, watched: Int = 0) {
        state.withLock { $0.watch = (watchState, message, watched) }
    }

    /// Takes over what a step has found out.
    func take(_ effects: FolderEffects) {
        state.withLock { state in
            for entry in effects.problems.entries {
                switch entry {
                case .note(let message, let path): Self.note(message, at: path, &state)
                case .clear(let path): state.problems.removeValue(forKey: path)
                case .forget(let paths): Self.forget(below: paths, &state)
                }
            }
            let counts = effects.counts
            if let need = counts.need { state.need = need }
            if let extraneous = counts.extraneous { state.extraneous = extraneous }
            if let conflicts = counts.conflicts { state.conflicts = conflicts }
            if let heldDeletions = counts.heldDeletions { state.heldDeletions = heldDeletions }
            if let lacks = counts.lacks { state.lacks = lacks }
            if let isShortOfSpace = counts.isShortOfSpace { state.isShortOfSpace = isShortOfSpace }
            if let lastScan = counts.lastScan { state.lastScan = lastScan }
        }
    }

    /// The watcher reported something of itself.
    func take(_ report: WatchReport, _ logger: Logger) {
        switch report {
        case .state(.stopped): setWatch("off")
        case .state(.starting): setWatch("starting")
        case .state(.running(let watched)): setWatch("watching", watched: watched)
        case .state(.impaired(let impairment)):
            setWatch(impairment.watched > 0 ? "partial" : "failed", impairment.message, watched: impairment.watched)
            logger.warning("\(impairment.message)")
        case .rescan(_, let reason): logger.debug("scanning again: \(reason)")
        case .changed, .renamed, .ignoreFileChanged, .markerChanged: break
        }
    }

    private static func note(_ message: String, at path: String, _ state: inout Snapshot) {
        if state.problems[path] != nil || state.problems.count < problemLimit {
            state.problems[path] = message
        } else {
            state.problemsBeyondLimit += 1
        }
    }

    private static func forget(below paths: [RelativePath]?, _ state: inout Snapshot) {
        guard let paths else {
            state.problems = [:]
            state.problemsBeyondLimit = 0
            return
        }
        for path in paths {
            state.problems = state.problems.filter { name, _ in
                name != path.text && !name.hasPrefix(path.text + "/")
            }
        }
    }
}
