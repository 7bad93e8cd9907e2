import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import FolderScanner
import IndexStore
import Reconciliation
import Selection

/// What people ask of a folder.
extension FolderEngine: FolderControl {
    private static let pageLimit = 1000

    func scan(_ paths: [String]) async throws -> ScanSummary.Folder {
        let subtrees = paths.contains("") ? nil : try paths.map { try RelativePath(parsing: $0) }
        let summary = try await exclusively { try await self.look(at: subtrees, isAsked: true) }
        state.withLock { $0.agenda.pullSoon() }
        wakeUp()
        return summary
    }

    func syncNow() async throws {
        activity.set(isShortOfSpace: false)
        state.withLock { state in
            state.agenda.succeeded()
            state.agenda.pullSoon()
        }
        wakeUp()
    }

    func extraneous(emit: @Sendable (Entry) async throws -> Void) async throws {
        let place = try session.place().get()
        let scanner = FolderScanner(
            root: place.root, selection: place.selection, known: NothingKnown(), options: ScanOptions())
        let entries = BoundedQueue<Entry>(limit: 64)
        var count: Int64 = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { entries.finish() }
                try await scanner.extraneous { batch in
                    for entry in try await self.entries(batch.entries.filter { !place.leftAlone.contains($0.name) }) {
                        await entries.sendOrDrop(entry)
                    }
                }
            }
            while let entry = await entries.next() {
                if entry.kind != .directory { count += 1 }
                try await emit(entry)
            }
            try await group.waitForAll()
        }
        activity.set(extraneous: count)
    }

    /// What was found, with what others have in its place and what can be done about it.
    private func entries(_ found: [ExtraneousEntry]) async throws -> [Entry] {
        let shared = session.configuration
        let rule = try await session.copyRule()
        return zip(found, try await facts(found.map(\.name))).compactMap { found, facts in
            var entry = Entry(extraneous: found, in: folder)
            guard let path = RelativePath(found.name), entry.kind != .directory else { return entry }
            let file = ExtraneousFile(
                path: path, status: found.status, facts: facts,
                reason: Freeing.reason(
                    against: facts.localVersion, global: facts.global,
                    copies: rule.copies(facts.holders), minimumCopies: shared.minimumCopies,
                    sight: SpaceFreeing.sight(found.status, facts.local)))
            entry.choices = ["select", "delete", "ignore", "move-to"]
            guard let other = file.other else { return entry }
            entry.choices = ["delete", "ignore", "move-to", "keep-mine", "keep-theirs", "keep-both"]
            entry.other = Entry.OtherVersion(
                size: other.size,
                modified: WallTime(seconds: other.modifiedSeconds, nanoseconds: other.modifiedNanoseconds).rfc3339,
                modifiedBy: other.modifiedBy.description, holders: facts.holders.map(\.description))
            return entry
        }
    }

    func needs(emit: @Sendable (Entry) async throws -> Void) async throws {
        let place = try session.place().get()
        let reader = EntryReader(
            folder: session, index: index, place: place, fetching: environment.fetching)
        try await eachNeeded(place) { page in
            for needed in page where !needed.file.isDeleted && !needed.isChangedHere {
                guard let entry = try await index.global(folder, needed.path), entry.isPresent else { continue }
                try await emit(try await reader.entry(entry))
            }
        }
    }

    // MARK: settling

    func perform(_ action: FolderAction.Kind, isDryRun: Bool) async throws -> FolderActionOutcome {
        var outcome = FolderActionOutcome(folder: folder.rawValue, action: action, isDryRun: isDryRun)
        switch action {
        case .override: try await override(&outcome)
        case .revert: try await revert(&outcome)
        case .confirm: try await confirm(&outcome)
        case .repair: try await repair(&outcome)
        }
        return outcome
    }

    private func override(_ outcome: inout FolderActionOutcome) async throws {
        guard rules.kind == .sendOnly else {
            throw ControlError(
                .invalidRequest, "\(folder) is not a folder that only sends; there is nothing to override",
                path: folder.rawValue)
        }
        let isDryRun = outcome.isDryRun
        let tally = try await exclusively { [self] in
            let place = try await currentPlace()
            var tally = ActionTally()
            try await eachNeeded(place) { page in
                let now = environment.time.wall().seconds
                var changes: [LocalChange] = []
                for name in page.map({ NameFacts($0) }) {
                    guard
                        let version = Reconciler.override(
                            local: name.localVersion, global: name.global, isKept: true, rules: rules,
                            unixSeconds: now)
                    else { continue }
                    tally.count(version.file)
                    guard !isDryRun, let file = try await withBlocks(version.file) else { continue }
                    changes.append(
                        .set(
                            LocalEntry(
                                LocalVersion(file: file, flags: version.flags, isOnDisk: version.isOnDisk),
                                name.local?.status)))
                }
                try await apply(changes, place)
            }
            if !isDryRun { try await countNeed() }
            return tally
        }
        tally.fill(&outcome)
    }

    private func revert(_ outcome: inout FolderActionOutcome) async throws {
        guard rules.kind == .receiveOnly else {
            throw ControlError(
                .invalidRequest, "\(folder) is not a folder that only receives; there is nothing to revert",
                path: folder.rawValue)
        }
        let isDryRun = outcome.isDryRun
        var tally = ActionTally()
        var attempted: Set<String> = []
        while true {
            let tried = attempted
            let round = try await exclusively { try await self.beginReverting(without: tried, isDryRun: isDryRun) }
            if attempted.isEmpty { tally = round.tally }
            guard !round.fetches.isEmpty else { break }
            attempted.formUnion(round.fetches.map(\.file.name))
            var waiting: FolderActivity.Waiting?
            _ = try await fetch(round.fetches, round.place, waiting: &waiting)
        }
        tally.fill(&outcome)
        try await syncNow()
    }

    private struct Reverting: Sendable {
        var place: FolderPlace
        var tally = ActionTally()
        var fetches: [FilePuller.Item] = []
    }

    /// Reverts all but what is to be fetched, or all if nothing is. Files that were tried already are left out.
    private func beginReverting(without attempted: Set<String>, isDryRun: Bool) async throws -> Reverting {
        var round = Reverting(place: try await currentPlace())
        var actions: [Action] = []
        var all: [NameFacts] = []
        var cursor: Int64?
        repeat {
            let page = try await index.localEntries(
                in: folder, flags: .receiveOnlyChanged, after: cursor, limit: Self.pageLimit)
            let facts = try await facts(page.entries.map(\.file.name))
            for name in facts where !attempted.contains(name.name) {
                let action = Reconciler.revert(
                    local: name.localVersion, global: name.global,
                    isKept: !round.place.selection.isLeftOut(name.name), rules: rules)
                guard action != .nothing else { continue }
                actions.append(action)
                if let global = name.global, !global.isInvalid {
                    round.tally.count(global)
                } else if var file = name.local?.file {
                    file.isDeleted = true
                    round.tally.count(file)
                }
            }
            all += facts
            cursor = page.next
        } while cursor != nil
        guard !isDryRun else { return round }
        let plan = Plan(actions: actions, rules: rules, unixSeconds: environment.time.wall().seconds)
        var performer = PlanPerformer(engine: self, place: round.place, facts: all)
        round.fetches = try await performer.perform(plan)
        try await countNeed()
        return round
    }

    /// What is gone was meant to go.
    private func confirm(_ outcome: inout FolderActionOutcome) async throws {
        guard let halt = activity.snapshot.halt, [.rootEmptied, .massDeletion].contains(halt.reason) else {
            throw ControlError(
                .invalidRequest, "\(folder) has not halted over deletions; there is nothing to confirm",
                path: folder.rawValue)
        }
        let before = try await index.totals(of: folder).local
        if outcome.isDryRun {
            outcome.deletions = activity.snapshot.heldDeletions
            return
        }
        state.withLock { $0.confirmsDeletions = true }
        do {
            _ = try await exclusively { try await self.look(at: nil) }
        } catch {
            state.withLock { $0.confirmsDeletions = false }
            throw error
        }
        let after = try await index.totals(of: folder).local
        outcome.deletions = max(0, (before.files &+ before.directories) &- (after.files &+ after.directories))
        try await syncNow()
    }

    /// What is gone was not meant to go: the root and its marker are made anew, what is missing is forgotten and so
    /// needed again. Nothing is deleted anywhere.
    private func repair(_ outcome: inout FolderActionOutcome) async throws {
        guard let halt = activity.snapshot.halt else {
            throw ControlError(
                .invalidRequest, "\(folder) has not halted; there is nothing to repair", path: folder.rawValue)
        }
        let isDryRun = outcome.isDryRun
        let path = session.configuration.path
        if [.rootMissing, .markerMissing].contains(halt.reason), !isDryRun {
            try await environment.fetching.threads.runIfActive {
                let root = try RootDirectory(creating: path)
                if let marker = RelativePath(FolderPlace.marker) { try root.createDirectories(marker) }
            }
        }
        guard isDryRun || halt.reason != .selection else { throw halt }
        let tally = try await exclusively { [self] in
            var tally = ActionTally()
            guard case .success(let place) = session.place() else { return tally }
            var cursor: String?
            repeat {
                let page = try await index.localDescendants(
                    of: folder, after: cursor, limit: Self.pageLimit)
                var forgotten: [LocalChange] = []
                for entry in page.entries {
                    guard let name = RelativePath(entry.path),
                        try await environment.fetching.threads.runIfActive({ try place.root.status(of: name) }) == nil
                    else { continue }
                    forgotten.append(.forget(entry.path))
                    if let global = try await index.global(folder, entry.path)?.file { tally.count(global) }
                }
                if !isDryRun { try await apply(forgotten, place) }
                cursor = page.next
            } while cursor != nil
            if !isDryRun {
                state.withLock { $0.deletionGuard.reset() }
                ended(activity.snapshot.halt)
            }
            return tally
        }
        tally.fill(&outcome)
        guard !isDryRun else { return }
        scanEverythingSoon()
    }

    /// Calls `body` with all that is needed, page by page.
    private func eachNeeded(_ place: FolderPlace, _ body: ([NeededEntry]) async throws -> Void) async throws {
        let selection = place.selection
        var cursor: String?
        repeat {
            let page = try await index.needed(
                in: folder, after: cursor, limit: Self.pageLimit, isKept: { !selection.isLeftOut($0) },
                mayContain: { selection.mayContainSelected($0) })
            try await body(page.entries)
            cursor = page.next
        } while cursor != nil
    }
}

/// Counts what an action changes.
private struct ActionTally: Sendable {
    private var files: Int64 = 0
    private var bytes: Int64 = 0
    private var directories: Int64 = 0
    private var deletions: Int64 = 0
    private var paths: [String] = []

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

    func fill(_ outcome: inout FolderActionOutcome) {
        outcome.files = files
        outcome.bytes = bytes
        outcome.directories = directories
        outcome.deletions = deletions
        outcome.paths = paths
    }
}

extension Entry {
    init(extraneous found: ExtraneousEntry, in folder: FolderID) {
        let kind: Kind =
            switch found.status.type {
            case .directory: .directory
            case .symlink: .symlink
            case .regular, .other: .file
            }
        let modified = found.status.modified
        self.init(
            kind: kind, folder: folder.rawValue, path: found.name, size: kind == .file ? found.status.size : 0,
            modified: WallTime(seconds: modified.seconds, nanoseconds: modified.nanoseconds).rfc3339,
            state: .extraneous, selected: .no)
    }
}

/// For walks that ask nothing of the index.
struct NothingKnown: KnownEntries {
    func children(of directory: String) async throws -> [KnownEntry] { [] }
    func children(of directory: String, named names: [String]) async throws -> [KnownEntry] { [] }
}
