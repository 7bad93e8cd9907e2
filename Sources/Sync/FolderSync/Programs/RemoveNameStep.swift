import BlockExchange
import FileAccess
import IndexStore
import SyncDecisions

/// Removes a file, a link or an empty directory for a program: on this disk, and on all devices that have it.
package struct RemoveNameStep: FolderStep {
    let path: RelativePath

    package init(path: RelativePath) {
        self.path = path
    }

    /// - Throws: `ProgramRefusal`; `FileAccessError`; `FolderHalt` while deletions are held back.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let (root, path) = (folder.root, path)
        guard let status = try await folder.onDisk({ try root.status(of: path) }) else {
            return try await removeAbsent(folder, &work)
        }
        if folder.selection.isLeftOut(path.text) {
            let facts = try await folder.index.facts(path.text)
            let isShared = facts?.global.map { !$0.isDeleted && !$0.isInvalid } ?? false
            if isShared { return try await removeEverywhere(folder, &work) }
            try await remove(status, folder)
            return work.effects.rescan(path.text)
        }
        try await remove(status, folder)
        // While its line is there, so that the deletion is told.
        try await folder.tellRemoval(of: path.text, &work)
        _ = try await ScanStep(paths: [path], isRequested: true).run(folder, &work)
        _ = try await folder.droppingLine(of: path.text, &work)
    }

    private func remove(_ status: FileAccess.FileStatus, _ folder: FolderContext) async throws {
        let (root, path) = (folder.root, path)
        try await folder.onDisk { try root.removeForProgram(path, isDirectory: status.type == .directory) }
    }

    private func removeAbsent(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        guard let entry = try await folder.index.global(path.text), entry.isPresent || entry.isDirectory else {
            throw ProgramRefusal.notFound
        }
        try folder.requireNoDeletionHalt()
        let known = try await folder.index.store.totals(of: folder.id).global
        let total = Int(clamping: known.count)
        let now = folder.tools.time.monotonic()
        let verdict = work.memory.deletionGuard.verdict(
            gone: [path.text], lost: 1, known: total, isRootEmpty: false, isWhole: true, mayWait: false, at: now)
        if case .massDeletion(let lost, let all) = verdict { throw ProgramRefusal.massDeletion(lost: lost, of: all) }
        try await removeEverywhere(folder, &work)
        work.memory.deletionGuard.noted(gone: [path.text], lost: 1, at: now)
    }

    private func removeEverywhere(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let outcome = try await DeleteEverywhereStep(paths: [path.text]).run(folder, &work)
        guard outcome.staying.isEmpty else { throw ProgramRefusal.changedHere }
    }
}

extension RootDirectory {
    /// Removes a name as unlink(2) and rmdir(2) do. A directory that holds nothing but what is being put together in it is empty;
    /// one that cannot be listed is removed if the disk calls it empty.
    package func removeForProgram(_ path: RelativePath, isDirectory: Bool) throws(FileAccessError) {
        guard isDirectory else {
            guard try remove(path, expecting: nil, durability: .deferred) else {
                throw FileAccessError(.notFound, .remove, path: path.text)
            }
            return
        }
        for entry in try listIfPermitted(path) {
            guard let name = entry.name, let item = try? path.appending(name), item.isTemporary, !item.isSwap else {
                continue
            }
            _ = try removeTemporary(item)
        }
        guard try removeDirectory(path, durability: .deferred) else {
            throw FileAccessError(.notFound, .removeDirectory, path: path.text)
        }
    }

    private func listIfPermitted(_ path: RelativePath) throws(FileAccessError) -> [DirectoryEntry] {
        do {
            return try list(path)
        } catch {
            guard error.code == .permission else { throw error }
            return []
        }
    }
}
