import FileAccess
import FolderScanner
import IndexStore
import Selection

/// Puts groups of files into their places, each all at once: what is on the disk after a crash is all old or all new, once
/// `SettleGroupsStep` has seen it.
struct GroupPlacement: Sendable {
    let folder: FolderContext

    /// A group, and the second names of what it replaces.
    private struct Prepared: Sendable {
        var unit: StagedUnit
        /// In the archive, by position.
        var kept: [Int: VersionArchive.Kept] = [:]
        var copies: [(path: RelativePath, copy: RelativePath, seen: FileAccess.FileStatus)] = []
        var sealed: SealedGroup?

        var placings: [GroupPlacing] {
            sealed?.steps.map {
                GroupPlacing(name: $0.target.text, source: $0.source, sealed: $0.sealed, expected: $0.expected)
            } ?? []
        }
    }

    private struct Done: Sendable {
        var outcomes: [(Int, PlacementOutcome)] = []
        var changes: [LocalChange] = []
        /// Names of groups that are as they were, or as they are to be.
        var settled: [String] = []
        var isUnsettled = false
    }

    /// Gives an outcome for each file.
    func place(_ units: [StagedUnit], _ work: inout FolderWork) async throws -> [(Int, PlacementOutcome)] {
        let (prepared, failures) = try await folder.onDisk { prepare(units) }
        guard !prepared.isEmpty else { return failures }
        work.memory.hasUnsettledGroups = true
        try await folder.index.store.notePlacing(
            prepared.flatMap { $0.unit.filter { $0.commit != nil }.compactMap(\.version) },
            groups: prepared.map(\.placings), in: folder.id)
        let done = try await folder.onDisk { try place(prepared) }
        // Killed here, all is in place, and the next scan takes it for what it is.
        try await folder.index.apply(done.changes, placed: Set(names: done.settled), &work)
        if !done.isUnsettled { work.memory.hasUnsettledGroups = false }
        return failures + done.outcomes
    }

    /// Gives what is to be replaced its second names, and makes the new versions durable beside it.
    private func prepare(_ units: [StagedUnit]) -> (prepared: [Prepared], failures: [(Int, PlacementOutcome)]) {
        let archive = archive(for: units)
        var named: [Prepared] = []
        var failures: [(Int, PlacementOutcome)] = []
        for unit in units {
            var group = Prepared(unit: unit)
            var position = 0
            do {
                for (index, item) in unit.enumerated() {
                    position = item.position
                    guard case .exactly(let seen) = item.replacement else { continue }
                    var left = seen
                    if case .conflictCopy(let copy) = item.fate {
                        left = try folder.root.preserve(item.path, as: copy, expecting: seen)
                        group.copies.append((item.path, copy, left))
                    } else if item.fate.isArchived, let archive = try archive.get() {
                        let version = try archive.keep(item.path, expecting: seen)
                        (group.kept[item.position], left) = (version, version.left)
                    }
                    group.unit[index].replacement = .exactly(left)
                    group.unit[index].commit = item.commit?.replacing(.exactly(left))
                }
                named.append(group)
            } catch {
                withdraw(group, try? archive.get())
                failures += Self.failures(of: unit, error, at: position)
            }
        }
        var prepared: [Prepared] = []
        for (var group, result) in zip(named, folder.root.seal(named.map { $0.unit.map(Self.member) })) {
            switch result {
            case .success(let sealed):
                group.sealed = sealed
                prepared.append(group)
            case .failure(let error):
                withdraw(group, try? archive.get())
                failures += Self.failures(of: group.unit, error, at: nil)
            }
        }
        return (prepared, failures)
    }

    private static func member(_ item: StagedPlacement) -> GroupMember {
        if let commit = item.commit { return GroupMember(placing: commit) }
        return GroupMember(removing: item.path, expecting: item.replacement)
    }

    private func place(_ groups: [Prepared]) throws -> Done {
        let archive = try archive(for: groups.map(\.unit)).get()
        let attributes = folder.attributeWriter
        var done = Done()
        var archived: [VersionArchive.Kept] = []
        for (group, outcome) in zip(groups, folder.root.place(groups.compactMap(\.sealed))) {
            if case .unsettled = outcome {} else { done.settled += group.unit.map(\.path.text) }
            switch outcome {
            case .placed(let statuses):
                for (item, status) in zip(group.unit, statuses) {
                    if let removal = item.removal {
                        done.changes.append(removal)
                    } else if let status, let file = item.version {
                        let settled = status.settled(at: folder.tools.diskTime())
                        done.changes.append(
                            .set(
                                LocalEntry(
                                    file: item.commit?.noted(file, attributes) ?? file, status: IndexedStatus(settled)))
                        )
                    }
                    done.outcomes.append((item.position, .done(archived: group.kept[item.position]?.lastName)))
                }
                archived += group.kept.values
            case .undone(let error, let position):
                withdraw(group, archive)
                done.outcomes += Self.failures(of: group.unit, error, at: group.unit[position].position)
            case .unsettled(let error):
                done.isUnsettled = true
                done.outcomes += Self.failures(of: group.unit, error, at: nil)
            }
        }
        if let archive, !archived.isEmpty {
            // Else a loss of power could leave what was replaced with the time that it gets now.
            if archive.rules?.isTagging == false { try folder.root.synchronizeFileSystem() }
            let names = archived.map { FilePlacer.finish($0, in: archive) }
            // What is not let go now is by the next cleaning.
            try? archive.expire(after: names)
        }
        return done
    }

    private func archive(for units: [StagedUnit]) -> Result<VersionArchive?, any Error> {
        units.contains { $0.contains { $0.fate.isArchived } } ? Result { try folder.archive.open() } : .success(nil)
    }

    /// The group stays as it was: so the second names are names too many.
    private func withdraw(_ group: Prepared, _ archive: VersionArchive?) {
        for version in group.kept.values { archive?.withdraw(version) }
        for (path, copy, seen) in group.copies {
            // What is gone from its place may be in the copy alone.
            guard let now = try? folder.root.status(of: path), now.isUnchanged(since: seen.beforeRenaming) else {
                continue
            }
            _ = try? folder.root.remove(copy, expecting: nil, durability: .deferred)
        }
    }

    /// What the files of a group that could not be placed are told; `position` is that of the one in the way.
    private static func failures(
        of unit: StagedUnit, _ error: any Error, at position: Int?
    ) -> [(Int, PlacementOutcome)] {
        let outcome = PlacementOutcome(error)
        let culprit = unit.first { $0.position == position } ?? unit.first
        return unit.map { item in
            if case .changedOnDisk = outcome { return (item.position, .changedOnDisk) }
            return (item.position, item.position == culprit?.position ? outcome : .held(by: culprit?.path.text ?? ""))
        }
    }
}
