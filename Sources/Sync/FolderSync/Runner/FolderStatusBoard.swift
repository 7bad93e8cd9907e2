import AgentConfiguration
import AgentContext
import Arithmetic
import BlockExchange
import ControlAPI
import FileAccess
import FolderWatcher
import IndexStore
import Logging
import Phrases
import SyncDecisions
import Synchronization

/// Why a folder is at a standstill: a word for programs, and a sentence for people that ends with the remedy.
package struct FolderHalt: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: String, Sendable {
        case rootMissing = "halted-root-missing"
        case markerMissing = "halted-marker-missing"
        case rootEmptied = "halted-root-emptied"
        case massDeletion = "halted-mass-delete"
        case selection = "selection-error"
        case error = "error"
    }

    package var reason: Reason
    package var text: Phrase
    /// Something that is known could not be stored in the index: what it counts is not all there is.
    package var isIndexIncomplete = false
    /// Of `selection`: the ignore file is missing or has no lines.
    package var isSelectionMissing = false

    package init(
        reason: Reason, message: Phrase, isIndexIncomplete: Bool = false, isSelectionMissing: Bool = false
    ) {
        self.reason = reason
        text = message
        self.isIndexIncomplete = isIndexIncomplete
        self.isSelectionMissing = isSelectionMissing
    }

    package var description: String { message }
}

extension FolderHalt {
    /// Whether the folder stands still until deletions are confirmed or undone.
    package var isOverDeletions: Bool { [.rootEmptied, .massDeletion].contains(reason) }

    /// How deletions that are held back are decided.
    static func deletionRemedy(for folder: FolderID) -> Phrase {
        let folder = ShellWord.quoted(folder.rawValue)
        return Phrase(
            "if this was intended: synctrain folder confirm \(folder); to restore everything: synctrain folder repair \(folder)"
        )
    }

    /// Until the first scan of this process says what is missing now.
    static func remembered(in configuration: FolderConfiguration) -> FolderHalt {
        FolderHalt(
            reason: .massDeletion,
            message: Phrase(
                "names in \(configuration.path) were missing when the agent was stopped; \(deletionRemedy(for: configuration.id))"
            ))
    }
}

/// What a folder is at, for those who ask; written by its runner alone.
package final class FolderStatusBoard: Sendable {
    package struct Problem: Equatable, Sendable {
        package var path: String
        package var message: Phrase
    }

    /// What may not come over the links there are.
    package struct Waiting: Equatable, Sendable {
        package var files: Int64 = 0
        package var bytes: Int64 = 0
        /// Of the first of them.
        package var obstacle: LinkObstacle

        package init(files: Int64 = 0, bytes: Int64 = 0, obstacle: LinkObstacle) {
            self.files = files
            self.bytes = bytes
            self.obstacle = obstacle
        }

        package static func add(_ bytes: Int64, _ obstacle: LinkObstacle, to waiting: inout Waiting?) {
            var sum = waiting ?? Waiting(obstacle: obstacle)
            sum.files += 1
            sum.bytes.addClamped(bytes)
            waiting = sum
        }
    }

    package struct Snapshot: Sendable {
        /// Whether the folder was scanned since it was started.
        var hasScanned = false
        package var isScanning = false
        var isSyncing = false
        package var halt: FolderHalt?
        /// The last one over deletions until it is decided, whatever else the folder has halted for since.
        fileprivate(set) var deletionHalt: FolderHalt?
        /// What looks at this disk found, each forgotten by the next look at its name.
        package var found = Problems()
        /// What pulls could not do, each forgotten by the next pull that can, or need not.
        package var undone = Problems()
        /// Files whose bytes are not those that were hashed.
        package var damaged = Problems()
        /// Names that the pull under way could not do, and those that the one before could not.
        fileprivate var failing: Set<String> = []
        fileprivate var failed: Set<String> = []
        package var isShortOfSpace = false
        package var need = NeededTotals()
        /// What others changed and a folder that only sends does not take.
        package var untaken = NeededTotals()
        /// Until when nothing was missing; nil until it was read what was noted of it.
        package var completeness: Completeness?
        package var waiting: Waiting?
        /// Who holds what is needed, so far as it was looked at.
        package var lacks: [FolderOutlook.Lack] = []
        /// Names on this disk that are not selected, so far as they were counted.
        package var extraneous: Int64 = 0
        package var conflicts: Int64 = 0
        /// Deletions that a halt holds back, or that other devices made and nobody has confirmed.
        package var heldDeletions: Int64 = 0
        /// When the last look at the whole folder ended.
        package var lastScan: WallTime?
        package var watch = (state: "off", message: Phrase?.none, watched: 0)

        /// Names that something is wrong with, each once.
        package var problemCount: Int {
            found.count + undone.names.count(where: { !found.contains($0) })
                + damaged.names.count(where: { !found.contains($0) && !undone.contains($0) })
        }

        /// By name, so far as messages are kept.
        package var problems: [String: Phrase] {
            damaged.messages.merging(found.messages) { _, found in found }
                .merging(undone.messages) { _, undone in undone }
        }

        /// In the order of their names.
        package func firstProblems(_ count: Int) -> [Problem] {
            problems.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.prefix(count).map {
                Problem(path: $0.key, message: $0.value)
            }
        }
    }

    /// What is wrong with which names, each once.
    package struct Problems: Sendable {
        private static let messageLimit = 1000
        private static let nameLimit = 100_000

        package private(set) var messages: [String: Phrase] = [:]
        /// Names beyond the limit, of which only that is known.
        private var others: Set<String> = []

        package var count: Int { messages.count + others.count }
        package var names: [String] { Array(messages.keys) + others }

        package func contains(_ name: String) -> Bool { messages[name] != nil || others.contains(name) }

        package mutating func note(_ message: Phrase, at name: String) {
            if messages[name] != nil || messages.count < Self.messageLimit {
                messages[name] = message
                others.remove(name)
            } else if others.count < Self.nameLimit {
                others.insert(name)
            }
        }

        package mutating func clear(_ name: String) {
            messages[name] = nil
            others.remove(name)
        }

        /// Forgets what was said of these names and all below them.
        package mutating func clear(below names: Set<String>) {
            func isBelow(_ name: String) -> Bool {
                names.contains(name)
                    || name.utf8.indices.contains { index in
                        name.utf8[index] == UInt8(ascii: "/") && names.contains(String(name[..<index]))
                    }
            }
            messages = messages.filter { name, _ in !isBelow(name) }
            others = others.filter { !isBelow($0) }
        }
    }

    private let state = Mutex(Snapshot())

    package var snapshot: Snapshot { state.withLock { $0 } }

    package func set(hasScanned: Bool) { state.withLock { $0.hasScanned = hasScanned } }
    package func set(isScanning: Bool) { state.withLock { $0.isScanning = isScanning } }
    package func set(isSyncing: Bool) { state.withLock { $0.isSyncing = isSyncing } }
    /// Gives whether other deletions are held back now, or none any more.
    @discardableResult
    package func set(halt: FolderHalt?) -> Bool {
        state.withLock { state in
            let before = state.deletionHalt
            state.halt = halt
            if halt?.isOverDeletions ?? true { state.deletionHalt = halt }
            return state.deletionHalt != before
        }
    }
    /// What the process before held back, if it did.
    func set(heldDeletions: Int64?, in configuration: FolderConfiguration) {
        guard let heldDeletions else { return }
        set(halt: .remembered(in: configuration))
        state.withLock { $0.heldDeletions = heldDeletions }
    }
    package func set(waiting: Waiting?) { state.withLock { $0.waiting = waiting } }
    package func set(extraneous: Int64) { state.withLock { $0.extraneous = extraneous } }
    package func set(conflicts: Int64) { state.withLock { $0.conflicts = conflicts } }
    package func set(isShortOfSpace: Bool) { state.withLock { $0.isShortOfSpace = isShortOfSpace } }
    func set(completeness: Completeness) { state.withLock { $0.completeness = completeness } }
    func set(damaged: [(name: String, text: Phrase)]) {
        var problems = Problems()
        for file in damaged { problems.note(file.text, at: file.name) }
        state.withLock { $0.damaged = problems }
    }
    func setWatch(_ watchState: String, _ why: Phrase? = nil, watched: Int = 0) {
        state.withLock { $0.watch = (watchState, why, watched) }
    }

    /// Takes over what a step has found out by `now`. Gives until when nothing was missing, if that is another time now.
    ///
    /// - Parameter onlySends: whether the folder takes nothing of others: it needs nothing then.
    @discardableResult
    package func take(_ effects: FolderEffects, at now: WallTime, onlySends: Bool = false) -> Completeness? {
        state.withLock { state in
            let completeness = state.completeness
            for entry in effects.problems.entries {
                switch entry {
                case .found(let message, let path): state.found.note(message, at: path)
                case .undone(let message, let path):
                    state.undone.note(message, at: path)
                    state.failing.insert(path)
                case .clear(let path):
                    state.found.clear(path)
                    state.undone.clear(path)
                case .forgetFound(let paths?): state.found.clear(below: Set(paths.map(\.text)))
                case .forgetFound(nil): state.found = Problems()
                }
            }
            let counts = effects.counts
            if let changes = counts.need {
                let need = onlySends ? NeededTotals() : changes
                (state.need, state.untaken) = (need, onlySends ? changes : NeededTotals())
                state.completeness?.note(isComplete: need == NeededTotals(), at: now.seconds)
            }
            if let extraneous = counts.extraneous { state.extraneous = extraneous }
            if let conflicts = counts.conflicts { state.conflicts = conflicts }
            if let heldDeletions = counts.heldDeletions { state.heldDeletions = heldDeletions }
            if let lacks = counts.lacks { state.lacks = onlySends ? [] : lacks }
            if let isShortOfSpace = counts.isShortOfSpace { state.isShortOfSpace = isShortOfSpace }
            if let lastScan = counts.lastScan { state.lastScan = lastScan }
            return state.completeness == completeness ? nil : state.completeness
        }
    }

    /// A pull is over. What was said of names that could not be done is over, but for those that this pull could not do either.
    func pullEnded() {
        state.withLock { state in
            for name in state.failed.subtracting(state.failing) { state.undone.clear(name) }
            (state.failed, state.failing) = (state.failing, [])
        }
    }

    /// The watcher reported something of itself.
    package func take(_ report: WatchReport, _ logger: Logger) {
        switch report {
        case .state(.stopped): setWatch("off")
        case .state(.starting): setWatch("starting")
        case .state(.running(let watched)): setWatch("watching", watched: watched)
        case .state(.impaired(let impairment)):
            setWatch(impairment.watched > 0 ? "partial" : "failed", impairment.text, watched: impairment.watched)
            logger.warning("\(impairment.message)")
        case .rescan(_, let reason): logger.debug("scanning again: \(reason)")
        case .changed, .renamed, .ignoreFileChanged, .markerChanged: break
        }
    }
}
