import BlockExchange
import FileAccess
import FolderScanner
import IndexStore
import Names
import Reconciliation
import Selection

/// Puts files into their places in a folder, whoever asks: a pull, a fetch, a restored version, a conflict that is resolved, a
/// drop. The only one that does.
///
/// In order, for all together: that the versions are still wanted; a note in the index of what is about to be placed; for each,
/// that what is there is what was seen (size, times, inode), and a second name for it where it is to stay; the move; all made
/// durable; one transaction of the index. Killed at any moment, what was there or what came is in the place, whole, and the
/// next scan takes it for what it is.
struct FilePlacer: FolderStep {
    /// Names in the archive that are made durable one by one; more are made so together.
    private static let singlyDurable = 8

    let units: [StagedUnit]

    /// Gives an outcome for each file, by its position.
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> [(Int, PlacementOutcome)] {
        let names = units.joined().map(\.path.text)
        // Bytes that a program writes into what was replaced would be lost.
        let open = folder.writing.place(names)
        defer { folder.writing.placed(names.filter { !open.contains($0) }) }
        let (singles, groups, refused) = try await choose(folder, besides: open)
        var outcomes = refused
        if !singles.isEmpty { outcomes += try await place(singles, folder, &work) }
        if !groups.isEmpty {
            outcomes += try await GroupPlacement(folder: folder).place(groups, &work)
        }
        let done = Set(outcomes.compactMap { if case .done = $0.1 { $0.0 } else { nil } })
        for item in units.joined() where item.removal == nil && done.contains(item.position) {
            if let file = item.version { work.noteCameBack(file) }
        }
        return outcomes
    }

    /// Since they were planned another version may have won, the selection may have changed, or the folder may be elsewhere.
    private func choose(
        _ folder: FolderContext, besides open: Set<NameKey>
    ) async throws -> (singles: [StagedPlacement], groups: [StagedUnit], refused: [(Int, PlacementOutcome)]) {
        var (singles, groups): ([StagedPlacement], [StagedUnit]) = ([], [])
        var refused: [(Int, PlacementOutcome)] = []
        let names = units.map { unit in unit.first?.group?.names ?? unit.map(\.wantedName) }
        let facts = try await folder.index.facts(names.flatMap { $0 })
        var start = 0
        let attributes = folder.attributeWriter
        let written = try await written(folder)
        for (unit, names) in zip(units.map({ $0.map { $0.setting(attributes) } }), names) {
            let known = Array(facts[start..<start + names.count])
            start += names.count
            if unit.contains(where: { $0.root !== folder.root || open.contains($0.path.text) }) {
                refused += unit.map { ($0.position, .changedOnDisk) }
            } else if !isWanted(unit, known, folder) {
                refused += unit.map { ($0.position, .outdated) }
            } else if let path = unit.map(\.path).first(where: written.contains) {
                let error = FileAccessError(.busy, .rename, path: path.text)
                refused += unit.map { ($0.position, $0.path == path ? .failed(error) : .held(by: path.text)) }
            } else if unit.count == 1, unit[0].commit != nil {
                singles += unit
            } else {
                groups.append(unit)
            }
        }
        return (singles, groups, refused)
    }

    /// What is to be replaced or removed and is open for writing in a program that uses no mount.
    private func written(_ folder: FolderContext) async throws -> Set<RelativePath> {
        let root = folder.root
        let replaced = units.joined().filter { $0.root === root && $0.replacesFile }.map(\.path)
        return replaced.isEmpty ? [] : try await folder.onDisk { root.beingWritten(among: replaced) }
    }

    private func isWanted(_ unit: StagedUnit, _ facts: [NameFacts], _ folder: FolderContext) -> Bool {
        guard unit.first?.group == nil else {
            let versions = Dictionary(
                unit.compactMap { item in item.version.map { (NameKey($0.name), $0.version) } },
                uniquingKeysWith: { first, _ in first })
            let items = facts.map {
                PlanItem(
                    local: $0.localVersion, global: $0.global, isKept: !folder.selection.isLeftOut($0.name))
            }
            return GroupChange.pending(items, rules: folder.rules, unixSeconds: folder.now) == versions
        }
        return zip(unit, facts).allSatisfy { item, facts in
            guard let file = item.version, !item.isRequested else { return true }
            return facts.global?.version == (item.renaming?.source ?? file.version)
                && !folder.selection.isLeftOut(file.name) && !folder.selection.isLeftOut(item.wantedName)
        }
    }

    // MARK: single files

    private struct Placed: Sendable {
        var outcomes: [(Int, PlacementOutcome)] = []
        var changes: [LocalChange] = []
        /// To be scanned: this device's own content.
        var scans: [RelativePath] = []
        /// In their places, which are not known to be durable: the note stays, and a scan looks at them.
        var unsettled: Set<RelativePath> = []

        /// Notes what is in its place now.
        mutating func note(
            _ ready: Ready, _ status: FileAccess.FileStatus, _ attributes: AttributeWriter?, at time: FileTime,
            isExcluded: (String) -> Bool
        ) {
            let item = ready.item
            guard case .version(let file) = item.content else { return scans.append(item.path) }
            let status = status.settled(at: time)
            let flags: LocalFlags = isExcluded(file.name) ? .ignored : []
            changes.append(
                .set(
                    LocalEntry(file: ready.commit.noted(file, attributes), flags: flags, status: IndexedStatus(status)))
            )
            // Somebody has changed its attributes since it is in its place, or may write to it without a trace.
            if status.changed == nil { unsettled.insert(item.path) }
            // In this order: no device hears of the old name's end before it has heard of the new name.
            if let renaming = item.renaming { changes.append(.set(LocalEntry(file: renaming.tombstone))) }
        }
    }

    private func place(
        _ items: [StagedPlacement], _ folder: FolderContext, _ work: inout FolderWork
    ) async throws -> [(Int, PlacementOutcome)] {
        let versions = items.compactMap(\.version)
        if !versions.isEmpty { try await folder.index.store.notePlacing(versions, in: folder.id) }
        let (archive, selection, attributes) = (folder.archive, folder.selection, folder.attributeWriter)
        let placed = try await folder.onDisk { [time = folder.tools.diskTime] in
            Self.place(items, in: folder.root, archive, attributes, at: time) { selection.isLeftOut($0) }
        }
        // Killed here, the files are in place and the index has only the note: the next scan takes them for what they are.
        let settled = Set(names: versions.map(\.name)).subtracting(Set(names: placed.unsettled.map(\.text)))
        try await folder.index.apply(placed.changes, placed: settled, &work)
        work.effects.rescans.formUnion(placed.unsettled)
        if !placed.scans.isEmpty {
            _ = try await ScanStep(paths: placed.scans, isRequested: true).run(folder, &work)
        }
        return placed.outcomes
    }

    /// Blocks its thread.
    private static func place(
        _ items: [StagedPlacement], in root: RootDirectory, _ access: ArchiveAccess, _ attributes: AttributeWriter?,
        at time: @Sendable () -> FileTime, isExcluded: (String) -> Bool
    ) -> Placed {
        var placed = Placed()
        let opened: Result<VersionArchive?, any Error> =
            items.contains { $0.fate.isArchived } ? Result { try access.open() } : .success(nil)
        // One call makes many names durable; a few are made so one by one.
        let durability: Durability = items.count > singlyDurable ? .deferred : .immediate
        let (prepared, unprepared) = prepare(items, in: root, opened, durability)
        let archive = try? opened.get()
        let (ready, withdrawn) = durability == .deferred ? makeDurable(prepared, archive) : (prepared, [])
        placed.outcomes = unprepared + withdrawn
        var isInDoubt = false
        var standing: [RelativePath] = []
        for (ready, result) in zip(ready, root.commit(ready.map(\.commit))) {
            let position = ready.item.position
            switch result {
            case .success(let status):
                placed.note(ready, status, attributes, at: time(), isExcluded: isExcluded)
                placed.outcomes.append((position, .done(archived: ready.kept.map { finish($0, in: archive) })))
            case .failure(let error):
                placed.outcomes.append((position, PlacementOutcome(error)))
                if error.code != .changedOnDisk, error.code != .exists { isInDoubt = true }
                guard !ready.commit.file.isInPlace else {
                    // What was replaced has only its name in the archive left.
                    placed.unsettled.insert(ready.item.path)
                    break
                }
                if let version = ready.kept { archive?.withdraw(version) }
                continue
            }
            if let version = ready.kept { standing.append(version.lastName) }
        }
        // The disk failed in the middle. The next scan announces what it finds there, so that must survive a loss of power; where
        // the disk refuses this, too, the outcome already names its error.
        if isInDoubt { try? root.synchronizeFileSystem() }
        // Versions that cannot be expired now are expired by the next cleaning.
        try? archive?.expire(after: standing)
        return placed
    }

    /// What can be put into its place, with the second name that what it replaces has in the archive.
    private struct Ready {
        var item: StagedPlacement
        var commit: StagedCommit
        var kept: VersionArchive.Kept?
    }

    /// Gives what is to be replaced its other name: that of a conflict copy, or one in the archive.
    private static func prepare(
        _ items: [StagedPlacement], in root: RootDirectory, _ archive: Result<VersionArchive?, any Error>,
        _ durability: Durability
    ) -> (ready: [Ready], failures: [(Int, PlacementOutcome)]) {
        var (ready, failures): ([Ready], [(Int, PlacementOutcome)]) = ([], [])
        for item in items {
            guard var commit = item.commit else { continue }
            do {
                var kept: VersionArchive.Kept?
                if case .exactly(let seen) = item.replacement {
                    var left = seen
                    switch item.fate {
                    case .conflictCopy(let copy): left = try root.preserve(item.path, as: copy, expecting: seen)
                    case .archived, .archivedWithTime:
                        guard seen.type == .regular, let archive = try archive.get() else { break }
                        let version = try archive.keep(
                            item.path, expecting: seen, isTagged: item.fate == .archivedWithTime,
                            durability: durability)
                        (kept, left) = (version, version.left)
                    case .discarded: break
                    }
                    commit = commit.replacing(.exactly(left))
                }
                ready.append(Ready(item: item, commit: commit, kept: kept))
            } catch {
                failures.append((item.position, PlacementOutcome(error)))
            }
        }
        return (ready, failures)
    }

    /// Makes the names in the archive durable. Without its second name, nothing loses its place: where that fails, those that have one
    /// are withdrawn.
    private static func makeDurable(
        _ ready: [Ready], _ archive: VersionArchive?
    ) -> (ready: [Ready], failures: [(Int, PlacementOutcome)]) {
        guard ready.contains(where: { $0.kept != nil }) else { return (ready, []) }
        do {
            try archive?.synchronize()
            return (ready, [])
        } catch {
            let kept = ready.filter { $0.kept != nil }
            for version in kept.compactMap(\.kept) { archive?.withdraw(version) }
            return (ready.filter { $0.kept == nil }, kept.map { ($0.item.position, PlacementOutcome(error)) })
        }
    }

    /// Gives the version's name.
    static func finish(_ version: VersionArchive.Kept, in archive: VersionArchive?) -> RelativePath {
        // The content is in the archive already: at worst beside the version that it replaces, or with its old time.
        (try? archive?.finish(version)) ?? version.name
    }
}

extension StagedPlacement {
    /// The same with what its author announced of attributes, if the folder looks at them.
    fileprivate func setting(_ attributes: AttributeWriter?) -> StagedPlacement {
        guard let attributes, let version, let commit else { return self }
        var placement = self
        placement.commit = commit.setting(attributes.change(for: version))
        return placement
    }
}

extension StagedCommit {
    /// The version that was placed, with what its file got of attributes.
    func noted(_ version: FileInfo, _ attributes: AttributeWriter?) -> FileInfo {
        guard let attributes, let applied = file.appliedAttributes else { return version }
        return version.noting(attributes.noted(applied))
    }
}

extension ReplacedFate {
    var isArchived: Bool { self == .archived || self == .archivedWithTime }
}
