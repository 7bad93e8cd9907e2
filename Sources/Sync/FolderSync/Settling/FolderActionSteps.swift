import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Names
import Reconciliation
import Selection
import SyncDecisions

/// What this device has replaces what the others made of it, in a folder that only sends.
package struct OverrideStep: FolderStep {
    package var isDryRun = false

    package init(isDryRun: Bool = false) {
        self.isDryRun = isDryRun
    }

    /// - Throws: `FolderError.notSendOnly`.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> FolderActionOutcome {
        guard folder.rules.kind == .sendOnly else { throw FolderError.notSendOnly }
        var tally = ActionTally()
        var cursor: String?
        repeat {
            let page = try await folder.index.needed(after: cursor)
            var changes: [LocalChange] = []
            for name in page.entries.map({ NameFacts($0) }) {
                guard
                    let version = Reconciler.override(
                        local: name.localVersion, global: name.global, isKept: true, rules: folder.rules,
                        unixSeconds: folder.now)
                else { continue }
                tally.count(version.file)
                guard !isDryRun, let file = try await folder.index.withBlocks(version.file) else { continue }
                let full = LocalVersion(file: file, flags: version.flags, isOnDisk: version.isOnDisk)
                changes.append(.set(LocalEntry(full, name.local?.status)))
            }
            try await folder.index.apply(changes, &work)
            cursor = page.next
        } while cursor != nil
        if !isDryRun { work.effects.counts.need = try await folder.index.neededTotals() }
        return tally.outcome(.override, folder.id, isDryRun: isDryRun)
    }
}

/// What was changed here gives way to what the others have, in a folder that only receives: all but what is to be fetched,
/// or all if nothing is.
struct RevertStep: FolderStep {
    /// Files that were tried already.
    var attempted: Set<NameKey> = []
    var isDryRun = false

    struct Round: Sendable {
        var folder: FolderContext
        var outcome: FolderActionOutcome
        var fetches: [FileStaging.Item] = []
    }

    /// - Throws: `FolderError.notReceiveOnly`.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Round {
        guard folder.rules.kind == .receiveOnly else { throw FolderError.notReceiveOnly }
        var tally = ActionTally()
        var actions: [Action] = []
        var all: [NameFacts] = []
        var cursor: Int64?
        repeat {
            let page = try await folder.index.store.localEntries(
                in: folder.id, flags: .receiveOnlyChanged, after: cursor, limit: FolderIndex.pageLimit)
            let facts = try await folder.index.facts(page.entries.map(\.file.name))
            for name in facts where !attempted.contains(name.name) {
                let action = Reconciler.revert(
                    local: name.localVersion, global: name.global, isKept: !folder.selection.isLeftOut(name.name),
                    rules: folder.rules)
                guard action != .nothing else { continue }
                actions.append(action)
                if let global = name.global, !global.isInvalid {
                    tally.count(global)
                } else if var file = name.local?.file {
                    file.isDeleted = true
                    tally.count(file)
                }
            }
            all += facts
            cursor = page.next
        } while cursor != nil
        var round = Round(folder: folder, outcome: tally.outcome(.revert, folder.id, isDryRun: isDryRun))
        guard !isDryRun else { return round }
        var execution = PlanExecution(folder: folder, facts: all, work: work)
        defer { work = execution.work }
        round.fetches = try await execution.perform(
            Plan(actions: actions, rules: folder.rules, unixSeconds: folder.now))
        return round
    }
}

/// What is gone was meant to go: it is deleted on the other devices too. Where nothing is gone and other devices have deleted
/// more than is carried out unasked, that was meant.
struct ConfirmStep: FolderStep {
    /// Deletions that the halt holds back.
    let heldDeletions: Int64
    var isDryRun = false

    /// - Throws: `FolderError.notHaltedOverDeletions`.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> FolderActionOutcome {
        guard folder.deletionHalt != nil || !work.memory.vanishedMounts.isEmpty else {
            return try await confirmIncoming(folder, &work)
        }
        var outcome = FolderActionOutcome(folder: folder.id.rawValue, action: .confirm, isDryRun: isDryRun)
        guard !isDryRun else {
            outcome.deletions = heldDeletions
            return outcome
        }
        let before = try await folder.index.store.totals(of: folder.id).local
        work.memory.confirmsDeletions = true
        do {
            _ = try await ScanStep(isRequested: true).run(folder, &work)
        } catch {
            work.memory.confirmsDeletions = false
            throw error
        }
        let after = try await folder.index.store.totals(of: folder.id).local
        outcome.deletions = max(0, (before.files &+ before.directories) &- (after.files &+ after.directories))
        return outcome
    }

    /// Lets the next pull carry out the deletions that wait now, and no others.
    private func confirmIncoming(_ folder: FolderContext, _ work: inout FolderWork) async throws -> FolderActionOutcome
    {
        guard work.memory.heldDeletions != nil else { throw FolderError.notHaltedOverDeletions }
        var outcome = FolderActionOutcome(folder: folder.id.rawValue, action: .confirm, isDryRun: isDryRun)
        let confirmed = try await IncomingDeletions(folder: folder, names: nil).confirmed()
        // Of names, directories too, as `status` counts what is to be deleted.
        (outcome.deletions, outcome.isHere) = (confirmed.count, true)
        guard !isDryRun else { return outcome }
        try await folder.setConfirmedDeletions(confirmed.deletions, &work)
        work.memory.heldDeletions = nil
        work.effects.pull = .everything
        return outcome
    }
}

extension FolderMemory {
    /// What `ConfirmStep` would carry out in a folder that has not halted: what is below a missing disk first.
    ///
    /// - Parameter held: names that are missing below such a disk.
    package func unconfirmed(_ folder: FolderID, held: Int64) -> FolderStatus.HeldDeletions? {
        let mounts = vanishedMounts.names
        guard mounts.isEmpty else {
            let places = mounts.sorted().prefix(3).joined(separator: ", ") + (mounts.count > 3 ? ", …" : "")
            let text = VanishedMounts.text(folder: folder.rawValue)
            return FolderStatus.HeldDeletions(names: held, isHere: false, message: "\(places): \(text)")
        }
        return heldDeletions.map {
            FolderStatus.HeldDeletions(
                names: Int64($0.files), isHere: true, message: $0.text(folder: folder.rawValue))
        }
    }
}

/// What is gone was not meant to go: what is missing is forgotten and so needed again. Nothing is deleted anywhere.
struct RepairStep: FolderStep {
    var isDryRun = false

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> FolderActionOutcome {
        let missing = MissingNames(folder: folder.id, root: folder.root, store: folder.index.store, tools: folder.tools)
        guard !isDryRun else { return try await missing.plan() }
        var tally = ActionTally()
        var lost: [String] = []
        var cursor: String?
        repeat {
            let page = try await missing.page(after: cursor)
            tally.count(page)
            lost += page.lost.map(\.name)
            try await folder.index.apply(page.names.map { .forget($0) }, &work)
            cursor = page.next
        } while cursor != nil
        work.log(.deleted, lost, folder.index)
        work.memory.deletionGuard.reset()
        work.effects.endsHalt = true
        work.effects.scansEverything = true
        return tally.outcome(.repair, folder.id, isDryRun: false)
    }
}

/// What the index has on this disk and is not there.
struct MissingNames: Sendable {
    struct Page: Sendable {
        var names: [String] = []
        /// What comes again, as another device has it.
        var restored: [FileInfo] = []
        /// What no other device has.
        var lost: [FileInfo] = []
        var next: String?
    }

    let folder: FolderID
    /// Nil if the root itself is missing.
    let root: RootDirectory?
    let store: IndexStore
    let tools: FolderTools

    /// What a repair would do.
    func plan() async throws -> FolderActionOutcome {
        var tally = ActionTally()
        var cursor: String?
        repeat {
            let page = try await page(after: cursor)
            tally.count(page)
            cursor = page.next
        } while cursor != nil
        return tally.outcome(.repair, folder, isDryRun: true)
    }

    func page(after cursor: String?) async throws -> Page {
        let known = try await store.localDescendants(of: folder, after: cursor, limit: FolderIndex.pageLimit)
        let root = root
        var page = Page(next: known.next)
        page.names = try await tools.threads.runIfActive {
            try known.entries.map(\.path).filter { name in
                guard let path = RelativePath(name) else { return false }
                return try root?.status(of: path) == nil
            }
        }
        for facts in try await store.facts(in: folder, names: page.names) {
            // What others have deleted is missing rightly.
            guard let local = facts.local, let global = facts.global, !global.isDeleted else { continue }
            if let other = try await other(global, facts) {
                if !local.flags.contains(.ignored) { page.restored.append(other) }
            } else {
                page.lost.append(local.file)
            }
        }
        return page
    }

    /// The version that is the newest once this device has none.
    private func other(_ global: FileInfo, _ facts: NameFacts) async throws -> FileInfo? {
        if !facts.holders.isEmpty { return global }
        var found = try await store.standings(in: folder, of: facts.name).map(\.file).first {
            !$0.isDeleted && !$0.isInvalid
        }
        // As they were announced, without their names.
        found?.name = facts.name
        return found
    }
}

/// Counts what an action changes.
private struct ActionTally: Sendable {
    private var files: Int64 = 0
    private var bytes: Int64 = 0
    private var directories: Int64 = 0
    private var deletions: Int64 = 0
    private var paths: [String] = []
    /// Nil but for a repair.
    private var lostFiles: Int64?

    mutating func count(_ page: MissingNames.Page) {
        for file in page.restored { count(file) }
        lostFiles = (lostFiles ?? 0) + Int64(page.lost.count { $0.kind != .directory })
    }

    mutating func count(_ file: FileInfo) {
        if paths.count < FolderActionOutcome.pathLimit { paths.append(file.name) }
        if file.isDeleted {
            deletions += 1
        } else if file.kind == .directory {
            directories += 1
        } else {
            files += 1
            bytes &+= file.size
        }
    }

    func outcome(_ action: FolderAction.Kind, _ folder: FolderID, isDryRun: Bool) -> FolderActionOutcome {
        var outcome = FolderActionOutcome(
            folder: folder.rawValue, action: action, isDryRun: isDryRun, files: files, bytes: bytes,
            directories: directories, deletions: deletions, paths: paths)
        outcome.lostFiles = lostFiles
        return outcome
    }
}
