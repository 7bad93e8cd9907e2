import AgentConfiguration
import Arithmetic
import BlockExchange
import FileAccess
import IndexStore
import Names
import Phrases
import Reconciliation
import Selection

/// Plans a window of what is needed, and does what comes before the first file that is to be fetched, or all of it if there
/// is none.
struct PlanPullStep: FolderStep {
    /// Names that one plan is made of: renames are found within a plan.
    private static let planLimit = 10_000

    /// What is to be pulled; nil for everything.
    let names: [String]?
    /// Those of `names` that no announcement brought. If others have deleted a file there, then by an announcement that
    /// came meanwhile: of its other names, one may be what the file became, and they are to be in the same plan.
    var unannounced: Set<NameKey> = []
    /// Where the window begins.
    let cursor: String?
    /// Files that were tried in this window already.
    let attempted: Set<NameKey>
    /// What other devices announced as deleted since the last time.
    let deletions: [FileInfo]
    /// Whether `status` is to say how much is needed: in the first round that finds something.
    let countsNeed: Bool
    /// What was decided about deletions earlier in this pull; nil if none was met yet.
    var clearance: DeletionClearance?

    struct Round: Sendable {
        /// The folder as the plan saw it.
        var folder: FolderContext
        /// What the plan was made of, and the rest of the pull is to be; nil for everything.
        var names: [String]?
        /// What is to be fetched before anything else of the window can be done.
        var fetches: [FileStaging.Item] = []
        var isComplete = true
        /// Whether anything is needed in the window.
        var isNeeded = false
        /// Where the next window begins; nil after the last.
        var next: String?
        /// What is decided about deletions for the rest of the pull; nil if none was met yet.
        var clearance: DeletionClearance?
    }

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Round {
        try await outlive(folder, &work)
        var window = try await needed(folder)
        let names = window.names
        // What was decided about the deletions of a few names says nothing of all.
        let isWider = names == nil && self.names != nil
        var round = Round(
            folder: folder, names: names, next: window.next, clearance: isWider ? nil : clearance)
        let groups = folder.groupPatterns
        window.facts.removeAll { isAttempted($0.name, groups) }
        if round.clearance == nil, folder.settings.guardsIncomingDeletions, window.facts.contains(where: \.isDeletion) {
            round.clearance = try await IncomingDeletions(folder: folder, names: names).clearance(&work)
        }
        round.isComplete = round.clearance?.isForLater != true
        window.facts.removeAll { round.clearance.holds($0, work) || work.memory.vanishedMounts.contains($0.name) }
        guard !window.facts.isEmpty else { return round }
        round.isNeeded = true
        if countsNeed { work.effects.counts.need = try await folder.index.neededTotals(names) }
        window.facts += try await folder.partners(of: window.facts, groups).filter { !round.clearance.holds($0, work) }
        let options = PlanOptions(
            order: PullOrder(folder.settings.order), priorities: priorities(folder),
            freeByteCount: Int64(clamping: try folder.freeBytes()), neededByteCount: nil, groups: groups)
        let plan = Plan(
            items: window.facts.map {
                PlanItem(local: $0.localVersion, global: $0.global, isKept: !folder.selection.isLeftOut($0.name))
            }, rules: folder.rules, options: options, unixSeconds: folder.now)
        for blocked in plan.blocked { note(blocked, &work) }
        work.noteContestedDeletions(window.facts, folder.rules)
        var execution = PlanExecution(folder: folder, facts: window.facts, work: work)
        do {
            round.fetches = try await execution.perform(plan)
        } catch {
            work = execution.work
            round.clearance?.used(execution.deletedFiles, &work.memory.incomingGuard, at: folder.tools.time.monotonic())
            throw error
        }
        work = execution.work
        round.clearance?.used(execution.deletedFiles, &work.memory.incomingGuard, at: folder.tools.time.monotonic())
        round.isComplete = round.isComplete && execution.isComplete && plan.blocked.isEmpty
        return round
    }

    /// A group is tried as a whole: else what keeps one of its names waiting would have the others fetched again and again.
    private func isAttempted(_ name: String, _ groups: GroupPatterns) -> Bool {
        guard !attempted.isEmpty else { return false }
        return attempted.contains(name) || groups.group(of: name)?.names.contains { attempted.contains($0) } == true
    }

    /// Announces again what was changed here while others deleted it. What was changed here meanwhile wins over a deletion,
    /// but by a rule that not all devices share; see `LocalChanges.outliving`.
    private func outlive(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        guard !deletions.isEmpty else { return }
        let (now, rules) = (folder.now, folder.rules)
        var changes: [LocalChange] = []
        for (deletion, facts) in zip(deletions, try await folder.index.facts(deletions.map(\.name))) {
            guard
                let version = LocalChanges.outliving(
                    deletion, local: facts.localVersion, rules: rules, unixSeconds: now),
                let file = try await folder.index.withBlocks(version.file)
            else { continue }
            changes.append(.set(LocalEntry(LocalVersion(file: file, isOnDisk: true), facts.local?.status)))
        }
        try await folder.index.apply(changes, &work)
    }

    /// The next names, of these or of all, of which this device has not what it should have.
    private func needed(
        _ folder: FolderContext
    ) async throws -> (facts: [NameFacts], names: [String]?, next: String?) {
        if let names {
            let facts = try await folder.index.needed(names).map { NameFacts($0) }
            let isPart = facts.contains {
                $0.isDeletion && $0.local?.file.kind == .file && unannounced.contains($0.name)
            }
            if !isPart { return (facts, names, nil) }
        }
        var facts: [NameFacts] = []
        var cursor = cursor
        repeat {
            let page = try await folder.index.needed(after: cursor)
            facts += page.entries.map { NameFacts($0) }
            cursor = page.next
        } while cursor != nil && facts.count < Self.planLimit
        return (facts, nil, cursor)
    }

    private func note(_ blocked: Plan.Blocked, _ work: inout FolderWork) {
        let message: Phrase
        switch blocked.obstacle {
        case .mustRescan: return work.effects.rescan(blocked.name)
        case .unsupported: message = Phrase("something that cannot be synced has the same path; move it elsewhere")
        case .directoryNotEmpty: message = ProblemText.directoryInTheWay
        case .groupMember(let name): message = FolderContext.groupMessage(name)
        case .parentNotDirectory:
            message = Phrase(
                "other devices have both a file and a directory at a parent path; rename one of them there")
        }
        work.effects.problems.noteUndone(message, at: blocked.name)
    }

    private func priorities(_ folder: FolderContext) -> PriorityPatterns {
        do {
            return try PriorityPatterns(folder.settings.priority)
        } catch {
            folder.logger.warning("the priorities of the folder are not used: \(error)")
            return .none
        }
    }
}

/// Heeds what came of the files of a round.
struct PullOutcomesStep: FolderStep {
    let items: [FileStaging.Item]
    let outcomes: [PlacementOutcome]

    /// What is to be remembered until the pull ends.
    struct Account: Sendable {
        var isComplete = true
        var waiting: FolderStatusBoard.Waiting?
    }

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Account {
        var account = Account()
        for (item, outcome) in zip(items, outcomes) {
            let (name, path) = (item.file.name, RelativePath(item.file.name))
            if case .done = outcome {} else if let left = item.path?.temporaryPath { work.memory.note([left]) }
            switch outcome {
            case .done:
                work.effects.problems.clear(name)
                if folder.rules.attributes.areSynced, let local = try await folder.index.facts(name)?.local {
                    folder.noteMissingAttributes(of: local.file, &work)
                }
                guard case .conflictCopy(let copy) = item.fate else { break }
                work.log(.conflict, [name], folder.index)
                if let path { try await folder.conflictCopyMade(copy, of: path, &work) }
            case .outdated: work.effects.pull.add([name])
            case .changedOnDisk:
                account.isComplete = false
                if let path, let obstacle = try folder.obstacle(to: path) {
                    if item.removal == nil, try await DirectoryClaims(folder: folder).settle(obstacle.path, &work) {
                        work.effects.pull.add([name])
                        break
                    }
                    work.effects.problems.noteUndone(obstacle.text, at: name)
                    work.effects.doubted.insert(obstacle.path)
                } else {
                    work.effects.doubt(name)
                }
            // A link that comes is a reason to try again; time is none.
            case .unavailable: break
            case .held(let other):
                work.effects.problems.noteUndone(FolderContext.groupMessage(other), at: name)
            case .waiting(let obstacle):
                FolderStatusBoard.Waiting.add(item.file.size, obstacle, to: &account.waiting)
            case .failed(let error):
                account.isComplete = false
                work.effects.problems.noteUndone(ProblemText.of(error, in: folder.settings), at: name)
                if ProblemText.isDiskFull(error) { work.effects.counts.isShortOfSpace = true }
            }
        }
        if items.contains(where: { ConflictName.isCopy($0.file.name) }) { work.effects.touchesConflicts = true }
        return account
    }
}

extension PullOutcomesStep.Account {
    /// Adds what came of another round.
    mutating func add(_ other: Self) {
        isComplete = isComplete && other.isComplete
        if let other = other.waiting {
            var sum = waiting ?? FolderStatusBoard.Waiting(obstacle: other.obstacle)
            sum.files.addClamped(other.files)
            sum.bytes.addClamped(other.bytes)
            waiting = sum
        }
    }
}

/// Brings counts and space in order after a pull.
struct EndPullStep: FolderStep {
    /// What was pulled; nil for everything.
    let names: [String]?

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let need = try await folder.index.neededTotals(names)
        work.effects.counts.need = need
        try await Leftovers(folder: folder).removeTemporaries(&work)
        try await LocalRenames(folder: folder).endMoves(&work)
        work.effects.counts.lacks = need.items == .zero ? [] : try await folder.lacks()
        if names == nil, need.deletions == 0 {
            work.memory.heldDeletions = nil
            try await folder.setConfirmedDeletions(ConfirmedDeletions(), &work)
        }
    }
}

extension FolderContext {
    /// Bytes that may still be used on the disk.
    func freeBytes() throws -> UInt64 {
        try root.freeSpace().free(above: settings)
    }

    /// The same without what other files still need that are being put together.
    func unreservedBytes() throws -> UInt64 {
        let free = try freeBytes()
        return free - min(free, root.reservedByteCount(in: tools.fetching.space))
    }

    package func freeSpaceFloor(of space: FreeSpace) -> UInt64 { space.floor(of: settings) }
}

extension FreeSpace {
    /// The bytes that the folder leaves free.
    package func floor(of settings: FolderConfiguration) -> UInt64 {
        UInt64(clamping: settings.minimumFree.byteCount(ofDisk: Int64(clamping: total)))
    }

    /// The bytes that may be written above that.
    package func free(above settings: FolderConfiguration) -> UInt64 {
        let floor = floor(of: settings)
        return available > floor ? available - floor : 0
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
