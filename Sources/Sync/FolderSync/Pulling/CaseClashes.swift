import BlockExchange
import FileAccess
import IndexStore
import Names
import Reconciliation
import Selection
import SyncDecisions

/// Gives one of two files whose names are one to the disk another name, in folders that are set to (`case-clash = "rename"`).
struct CaseClashes {
    let folder: FolderContext

    enum Outcome {
        /// Both keep their names for now.
        case stay
        /// What had the place has another name, on this disk and in the index.
        case room
        /// The content of what is to come is fetched under another name.
        case fetch(FileStaging.Item)
        /// It was here under another name already; the index says now that the old name is deleted.
        case settled
    }

    /// - Parameters:
    ///   - newcomer: a file that is to come and has no room.
    ///   - holders: who has it.
    ///   - occupant: what has the place.
    /// - Throws: `FileAccessError` if the disk refuses; then all has its old name, or the next scan finds the new one.
    func settle(
        _ newcomer: FileInfo, holders: [DeviceID], over occupant: RelativePath, _ work: inout FolderWork
    ) async throws -> Outcome {
        let rules = folder.rules
        guard rules.renamesCaseClashes, let path = RelativePath(newcomer.name), path.parent == occupant.parent
        else { return .stay }
        let facts = try await folder.index.facts([path.text, occupant.text])
        let (coming, present) = (facts[0], facts[1])
        guard coming.global?.version == newcomer.version,
            let loser = CaseClash.loser(newcomer: side(coming), occupant: side(present), rules: rules),
            let entry = present.local
        else { return .stay }
        let seconds = CaseClash.patience(newcomer: newcomer, occupant: entry.file)
        guard
            work.memory.clashes.isDue(
                path.text, [newcomer.version, entry.file.version], after: seconds,
                at: folder.tools.time.monotonic())
        else { return .stay }
        switch loser {
        case .newcomer:
            switch try await outcome(for: newcomer, coming.localVersion) {
            case .stays: return .stay
            case .renamed(let renaming):
                folder.logger.notice(
                    "\(path.text) is named \(renaming.name) now: this disk takes it and \(occupant.text) for one name")
                return .fetch(FileStaging.Item(file: newcomer, holders: holders, renaming: renaming))
            case .isThere(let name, let tombstone):
                guard try await isUnchanged(name, &work) else { return .stay }
                try await folder.index.apply([.set(LocalEntry(file: tombstone))], &work)
                return .settled
            }
        case .occupant:
            do {
                return try await rename(occupant, entry, over: newcomer, &work) ? .room : .stay
            } catch let error as FileAccessError where error.code == .changedOnDisk || error.code == .notFound {
                work.effects.doubt(occupant.text)
                return .stay
            }
        }
    }

    private func side(_ facts: NameFacts) -> CaseClash.Side {
        CaseClash.Side(local: facts.localVersion, global: facts.global, isRenamable: isRenamable(facts.name))
    }

    private func isRenamable(_ name: String) -> Bool {
        guard let path = RelativePath(name), !path.isInternal, path.internalTwin == nil, !path.isTemporary else {
            return false
        }
        // Each note is in the file that its name says.
        let isNote = path.components.first.map { $0.lowercased() == NoteFile.directory } ?? false
        return !isNote && !folder.selection.isLeftOut(name) && folder.groupPatterns.group(of: name) == nil
    }

    private func outcome(for file: FileInfo, _ known: LocalVersion?) async throws -> CaseClash.Outcome {
        let facts = try await folder.index.facts(CaseClash.names(for: file))
        let root = folder.root
        let taken = try await folder.onDisk {
            try facts.map { facts in
                guard let path = RelativePath(facts.name) else { return true }
                return try root.status(of: path) != nil || root.twin(of: path) != nil
            }
        }
        let places = zip(facts, taken).map { facts, isTaken in
            CaseClash.Place(
                name: facts.name, local: facts.localVersion, global: facts.global,
                isSelected: isRenamable(facts.name), isTaken: isTaken)
        }
        return CaseClash.outcome(
            for: file, known: known, places: places, rules: folder.rules, unixSeconds: folder.now)
    }

    /// Whether a file is on this disk as the index says; else it is scanned.
    private func isUnchanged(_ name: String, _ work: inout FolderWork) async throws -> Bool {
        guard let path = RelativePath(name), let entry = try await folder.index.facts(name)?.local,
            let expected = FileAccess.FileStatus(entry), expected.changed != nil
        else { return false }
        let root = folder.root
        let status = try await folder.onDisk { try root.status(of: path) }
        if let status, status.isUnchanged(since: expected) { return true }
        work.effects.doubt(name)
        return false
    }

    /// Gives the file that is here another name. False if that cannot be now.
    private func rename(
        _ path: RelativePath, _ entry: LocalEntry, over newcomer: FileInfo, _ work: inout FolderWork
    ) async throws -> Bool {
        guard let expected = FileAccess.FileStatus(entry), expected.changed != nil,
            let full = try await folder.index.withBlocks(entry.file)
        else {
            work.effects.doubt(path.text)
            return false
        }
        let root = folder.root
        switch try await outcome(for: full, LocalVersion(entry)) {
        case .stays: return false
        case .isThere(let name, let tombstone):
            guard try await isUnchanged(name, &work) else { return false }
            _ = try await folder.onDisk { try root.remove(path, expecting: expected) }
            try await folder.index.apply([.set(LocalEntry(file: tombstone))], &work)
        case .renamed(let renaming):
            let target = try RelativePath(parsing: renaming.name)
            let file = renaming.file(from: full).noting(full.diskAttributes)
            // Killed after the rename, the next scan takes what it finds for this version.
            try await folder.index.store.notePlacing([file], in: folder.id)
            let status = try await folder.onDisk { () throws -> FileAccess.FileStatus? in
                try root.rename(path, to: target, replacing: .nothing, expecting: expected)
                return try root.status(of: target)
            }
            let moved = LocalEntry(file: file, status: status.map { IndexedStatus($0) } ?? .unknown)
            try await folder.index.apply(
                [.set(moved), .set(LocalEntry(file: renaming.tombstone))], placed: [NameKey(file.name)], &work)
            if folder.scrub.damaged(path.text) != nil {
                try await folder.index.store.renameDamaged(path.text, to: file.name, in: folder.id)
            }
            folder.logger.notice(
                "\(path.text) is named \(file.name) now: this disk takes it and \(newcomer.name) for one name")
        }
        work.effects.problems.clear(path.text)
        return true
    }
}
