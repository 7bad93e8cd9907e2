import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Bringing this disk to the global version of what is kept.
extension FolderEngine {
    /// Names that one plan is made of: renames are found within a plan.
    private static let planLimit = 10_000
    private static let pageLimit = 1000

    /// Does what is needed of `asked`, or of everything, window by window. Files are fetched outside of the engine's turn, so
    /// that looks at the disk and changes of the selection go on meanwhile; they get into their place within it. Throws
    /// `FolderHalt` or what the index says. Not to be called within a turn.
    func pull(_ asked: [String]? = nil) async throws {
        guard !isHaltedOverDeletions else { return }
        // What was left undone before may have been waiting for these.
        var names = state.withLock { state in
            defer { state.isInStep = false }
            return state.isInStep ? asked : nil
        }
        if try await turn.withUnits(1, { try await self.followElsewhere(asked) }) { names = nil }
        var isComplete = true
        var cursor: String?
        var waiting: FolderActivity.Waiting?
        defer { activity.set(isSyncing: false) }
        repeat {
            var attempted: Set<String> = []
            var next: String?
            while true {
                let (tried, after) = (attempted, cursor)
                let round = try await turn.withUnits(1) {
                    try await self.beginRound(names, after: after, without: tried)
                }
                next = round.next
                isComplete = isComplete && round.isComplete
                guard !round.fetches.isEmpty else { break }
                attempted.formUnion(round.fetches.map(\.file.name))
                let outcome = try await fetch(round.fetches, round.place, waiting: &waiting)
                isComplete = isComplete && outcome
            }
            cursor = next
        } while cursor != nil
        try await turn.withUnits(1) {
            try await self.countNeed(names)
            let place = try await self.currentPlace()
            try await self.removeTemporaries(place)
            try await self.endMoves()
            try await self.keepFree(place)
            try await self.noteLacks(place)
        }
        activity.set(waiting: waiting)
        forgetFailures()
        let now = environment.time.monotonic()
        let isInStep = isComplete && activity.snapshot.need == NeededTotals()
        state.withLock { state in
            isComplete ? state.agenda.succeeded() : state.agenda.retryLater(at: now)
            state.isInStep = isInStep
        }
        if isComplete { activity.set(isShortOfSpace: false) }
        session.engineChanged()
    }

    private struct Round: Sendable {
        var place: FolderPlace
        /// What is to be fetched before anything else of the window can be done.
        var fetches: [FilePuller.Item] = []
        var isComplete = true
        /// Where the next window begins; nil after the last.
        var next: String?
    }

    /// Plans the window after `cursor` and does what comes before the first file that is to be fetched, or all of it if
    /// there is none. Files that were tried in this window already are left out.
    private func beginRound(
        _ names: [String]?, after cursor: String?, without attempted: Set<String>
    ) async throws -> Round {
        let place = try await currentPlace()
        try await settleGroups(place)
        try await outlive(place)
        var window = try await needed(names, place, after: cursor)
        var round = Round(place: place, next: window.next)
        window.facts.removeAll { attempted.contains($0.name) }
        guard !window.facts.isEmpty else { return round }
        let groups = groupPatterns
        window.facts += try await partners(of: window.facts, groups)
        if !activity.snapshot.isSyncing {
            activity.set(isSyncing: true)
            try await countNeed(names)
            session.engineChanged()
        }
        let options = PlanOptions(
            order: PullOrder(session.configuration.order), priorities: try priorities(),
            freeByteCount: Int64(clamping: try freeBytes(place)), neededByteCount: nil, groups: groups)
        let plan = Plan(
            items: window.facts.map {
                PlanItem(local: $0.localVersion, global: $0.global, isKept: !place.selection.isLeftOut($0.name))
            }, rules: rules, options: options, unixSeconds: environment.time.wall().seconds)
        for blocked in plan.blocked { note(blocked, place) }
        noteContestedDeletions(window.facts)
        var performer = PlanPerformer(engine: self, place: place, facts: window.facts)
        round.fetches = try await performer.perform(plan)
        round.isComplete = performer.isComplete && plan.blocked.isEmpty
        return round
    }

    /// What was said of names that could not be had is over, but for those that this pull could not have either.
    private func forgetFailures() {
        let over = state.withLock { state in
            defer { (state.failedPulls, state.failingPulls) = (state.failingPulls, []) }
            return state.failedPulls.subtracting(state.failingPulls)
        }
        for name in over { activity.clearUndone(name) }
    }

    /// A pull could not do something of a name; the next that can, or need not, ends that.
    func noteUndone(_ message: String, at name: String) {
        state.withLock { _ = $0.failingPulls.insert(name) }
        activity.noteUndone(message, at: name)
    }

    /// Announces anew what was changed here while others deleted it.
    private func outlive(_ place: FolderPlace) async throws {
        let deletions = state.withLock { state in
            defer { state.announcedDeletions = [:] }
            return state.announcedDeletions.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        }
        guard !deletions.isEmpty else { return }
        let now = environment.time.wall().seconds
        var changes: [LocalChange] = []
        for (deletion, facts) in zip(deletions, try await facts(deletions.map(\.name))) {
            guard
                let version = LocalChanges.outliving(
                    deletion, local: facts.localVersion, rules: rules, unixSeconds: now),
                let file = try await withBlocks(version.file)
            else { continue }
            changes.append(.set(LocalEntry(LocalVersion(file: file, isOnDisk: true), facts.local?.status)))
        }
        try await apply(changes, place)
    }

    /// Fetches files and puts them into their places. False if some could not be had.
    func fetch(
        _ items: [FilePuller.Item], _ place: FolderPlace, waiting: inout FolderActivity.Waiting?
    ) async throws -> Bool {
        let puller = FilePuller(
            folder: folder, root: place.root, index: index, environment: environment.fetching,
            transfers: environment.transfers,
            freeSpaceFloor: freeSpaceFloor(of: try place.root.freeSpace()), filesAtOnce: environment.filesAtOnce,
            currentSelection: { [session] in
                guard case .success(let place) = session.place() else { return { _ in true } }
                return { place.selection.isLeftOut($0) }
            },
            archive: { [self, root = place.root] in try archive(in: root) },
            isWhole: { [self] in isWhole($0, $1, $2) },
            settling: { [self] isUnsettled in state.withLock { $0.hasUnsettledGroups = isUnsettled } },
            commitInTurn: { [turn, session] commit in
                let outcomes = try await turn.withUnits(1) { try await commit() }
                session.ownIndexChanged()
                return outcomes
            })
        var isComplete = true
        var (again, doubted): (Set<RelativePath>, Set<RelativePath>) = ([], [])
        let outcomes: [FilePuller.Outcome]
        do {
            outcomes = try await puller.pull(items)
        } catch {
            // What was staged may be of use to the next pull, or of none: it is not to be forgotten.
            noteTemporaries(items.compactMap { RelativePath($0.file.name)?.temporaryPath })
            throw error
        }
        for (item, outcome) in zip(items, outcomes) {
            let path = RelativePath(item.file.name)
            if case .done = outcome {} else if let left = path?.temporaryPath { noteTemporaries([left]) }
            switch outcome {
            case .done:
                activity.clear(item.file.name)
                if item.removal == nil { noteCameBack(item.file) }
                if let copy = item.conflictCopy {
                    again.insert(copy)
                    await note(.conflict, [item.file.name])
                    noteUndecided(copy)
                    if let path { again.formUnion(try removeExcessConflicts(of: path, in: place.root)) }
                }
            case .outdated: indexChanged(at: [item.file.name])
            case .changedOnDisk:
                isComplete = false
                if let path, let obstacle = try obstacle(to: path, in: place.root) {
                    noteUndone(obstacle.message, at: item.file.name)
                    doubted.insert(obstacle.path)
                } else if let path {
                    doubted.insert(path)
                }
            // A link that comes is a reason to try again; time is none.
            case .unavailable: break
            case .held(let name):
                noteUndone(Self.groupMessage(name), at: item.file.name)
            case .waiting(let obstacle): FolderActivity.Waiting.add(item.file.size, obstacle, to: &waiting)
            case .failed(let message, let isDiskFull):
                isComplete = false
                noteUndone(message, at: item.file.name)
                if isDiskFull { activity.set(isShortOfSpace: true) }
            }
        }
        if items.contains(where: { ConflictName.isCopy($0.file.name) }) { try await countConflicts(place) }
        if !again.isEmpty { scanSoon(again.sorted { $0.text < $1.text }) }
        doubt(doubted)
        return isComplete
    }

    /// Lets the oldest conflict copies of a name go, if the folder keeps only so many; gives their names.
    func removeExcessConflicts(of path: RelativePath, in root: RootDirectory) throws -> Set<RelativePath> {
        let limit = rules.conflictLimit
        guard limit >= 0 else { return [] }
        let names = try root.list(path.parent).compactMap(\.name).map { name in
            path.parent.map { $0.text + "/" + name } ?? name
        }
        var removed: Set<RelativePath> = []
        for name in ConflictName.excess(of: path.text, among: names, limit: limit) {
            guard let copy = RelativePath(name), let status = try root.status(of: copy) else { continue }
            if status.type == .regular, let archive = try archive(in: root) {
                try archive.take(copy, expecting: status, durability: .deferred)
                try archive.expire([copy])
            } else {
                try root.remove(copy, expecting: nil, durability: .deferred)
            }
            removed.insert(copy)
        }
        return removed
    }

    /// The next names, of these or of all, of which this device has not what it should have.
    private func needed(
        _ names: [String]?, _ place: FolderPlace, after: String?
    ) async throws -> (facts: [NameFacts], next: String?) {
        let selection = place.selection
        if let names {
            let entries = try await index.needed(in: folder, names: names, isKept: { !selection.isLeftOut($0) })
            return (entries.map { NameFacts($0) }, nil)
        }
        var facts: [NameFacts] = []
        var cursor = after
        repeat {
            let page = try await index.needed(
                in: folder, after: cursor, limit: Self.pageLimit, isKept: { !selection.isLeftOut($0) },
                mayContain: { selection.mayContainSelected($0) })
            facts += page.entries.map { NameFacts($0) }
            cursor = page.next
        } while cursor != nil && facts.count < Self.planLimit
        return (facts, cursor)
    }

    /// What the index knows of these names, in their order.
    func facts(_ names: [String]) async throws -> [NameFacts] {
        try await index.facts(in: folder, names: names)
    }

    /// Brings `status` in line with what is needed now; where names are given, nothing but of them is.
    func countNeed(_ names: [String]? = nil) async throws {
        guard case .success(let place) = session.place() else { return }
        let selection = place.selection
        if let names {
            let needed = try await index.needed(in: folder, names: names, isKept: { !selection.isLeftOut($0) })
            return activity.set(need: NeededTotals(needed))
        }
        let need = try await index.neededTotals(
            in: folder, isKept: { !selection.isLeftOut($0) }, mayContain: { selection.mayContainSelected($0) })
        activity.set(need: need)
    }

    private func note(_ blocked: Plan.Blocked, _ place: FolderPlace) {
        switch blocked.obstacle {
        case .mustRescan: if let path = RelativePath(blocked.name) { scanSoon([path]) }
        case .unsupported:
            noteUndone("something that cannot be synced is in its place; move it away", at: blocked.name)
        case .directoryNotEmpty:
            noteUndone("a directory with files that are needed is in its place; move them away", at: blocked.name)
        case .groupMember(let name): noteUndone(Self.groupMessage(name), at: blocked.name)
        case .parentNotDirectory:
            noteUndone(
                "other devices have a file and a directory of one name above it; rename one of them there",
                at: blocked.name)
        }
    }

    /// The first file, link or other thing that is no directory among the names above `path` on this disk, with what to do.
    func obstacle(
        to path: RelativePath, in root: RootDirectory
    ) throws -> (path: RelativePath, message: String)? {
        guard let obstacle = try root.obstacle(above: path) else { return nil }
        return (obstacle, Self.obstacleMessage(obstacle, to: path.text, in: folder))
    }

    static func obstacleMessage(_ obstacle: RelativePath, to name: String, in folder: FolderID) -> String {
        "“\(folder):\(obstacle)” is no directory here, and “\(name)” needs one of that name; rename, move or delete "
            + "“\(obstacle)”, and it is fetched"
    }

    private func priorities() throws -> PriorityPatterns {
        do {
            return try PriorityPatterns(session.configuration.priority)
        } catch {
            logger.warning("the priorities of the folder are not used: \(error)")
            return .none
        }
    }

    /// Bytes that may still be used.
    private func freeBytes(_ place: FolderPlace) throws -> UInt64 {
        let space = try place.root.freeSpace()
        let floor = freeSpaceFloor(of: space)
        return space.available > floor ? space.available - floor : 0
    }

    func freeSpaceFloor(of space: FreeSpace) -> UInt64 {
        UInt64(clamping: session.configuration.minimumFree.byteCount(ofDisk: Int64(clamping: space.total)))
    }

    /// Writes changes of what this device has into the index, and tells those who send it on. `placed` are names of
    /// which it was noted what is about to be put there, and which is over.
    func apply(_ changes: [LocalChange], _ place: FolderPlace, placed: Set<String> = []) async throws {
        guard !changes.isEmpty || !placed.isEmpty else { return }
        let selection = place.selection
        let made = changes.compactMap { change -> String? in
            guard case .set(let entry) = change, entry.file.modifiedBy == environment.localDevice.shortID else {
                return nil
            }
            return entry.file.name
        }
        let result = try await session.notingChanges(of: placed.isEmpty ? made : []) {
            try await index.applyLocal(in: folder, changes, placed: placed, isIgnored: { selection.isLeftOut($0) })
        }
        session.ownIndexChanged()
        if changes.contains(where: { ConflictName.isCopy($0.name) }) { try await countConflicts(place) }
        // A change made here seldom leaves something to get, and a pull looks at all that is kept.
        guard result.changedCount > 0 else { return }
        if state.withLock({ $0.agenda.awaitsRetry }) { return indexChanged() }
        let needed = try await index.needed(
            in: folder, names: changes.map(\.name), isKept: { !selection.isLeftOut($0) })
        if !needed.isEmpty { indexChanged(at: needed.map(\.path)) }
    }
}

extension PullOrder {
    init(_ order: FolderConfiguration.Order) {
        self =
            switch order {
            case .smallFirst: .smallestFirst
            case .newest: .newestFirst
            case .alphabetic: .alphabetic
            }
    }
}
