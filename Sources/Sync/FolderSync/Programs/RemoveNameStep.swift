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

    /// - Throws: `ProgramRefusal`; `FileAccessError`; `FolderHalt` while deletions are held back. Nothing is removed then.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let (root, path) = (folder.root, path)
        guard let status = try await folder.onDisk({ try root.status(of: path) }) else {
            return try await removeAbsent(folder, &work)
        }
        let facts = try await folder.index.facts(path.text)
        if folder.selection.isLeftOut(path.text) {
            let isShared = facts?.global.map { !$0.isDeleted && !$0.isInvalid } ?? false
            if isShared {
                work.effects.touchesExtraneous = true
                return try await removeEverywhere(folder, &work)
            }
            try await remove(status, folder)
            return work.effects.rescan(path.text)
        }
        let isKnown = facts?.isOnDiskByIndex ?? false
        // Before it goes: what is refused has to be there still.
        try folder.requireNoDeletionHalt()
        if isKnown { try await RemovalGuard(folder: folder).requireRemovable(path.text, in: .here, &work) }
        try await remove(status, folder)
        if isKnown { RemovalGuard(folder: folder).noteRemoved(path.text, in: .here, &work) }
        // While its line is there, so that the deletion is told.
        try await folder.tellRemoval(of: path.text, &work)
        _ = try await ScanStep(paths: [path], judged: path.text).run(folder, &work)
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
        // Of many names that a program removes, counted once.
        if !folder.selection.isLeftOut(path.text) { work.effects.touchesNeed = true }
        try await removeEverywhere(folder, &work)
    }

    private func removeEverywhere(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        try await RemovalGuard(folder: folder).requireRemovable(path.text, in: .elsewhere, &work)
        let outcome = try await DeleteEverywhereStep(paths: [path.text]).delete(folder, &work)
        guard outcome.staying.isEmpty else { throw ProgramRefusal.changedHere }
        RemovalGuard(folder: folder).noteRemoved(path.text, in: .elsewhere, &work)
    }
}

/// Names that programs remove: not more of them than the guard against mass deletions lets.
struct RemovalGuard {
    let folder: FolderContext

    /// - Throws: `FolderHalt` while deletions are held back; `ProgramRefusal.massDeletion` if too many have gone already.
    func requireRemovable(_ name: String, in scope: DeletionGuard.Scope, _ work: inout FolderWork) async throws {
        try folder.requireNoDeletionHalt()
        let totals = try await folder.index.store.totals(of: folder.id)
        let known = Int(clamping: scope == .here ? totals.local.count : totals.global.count)
        let verdict = work.memory.deletionGuard.verdict(
            gone: [name], lost: 1, known: known, isRootEmpty: false, isWhole: true, mayWait: false,
            in: scope, at: folder.tools.time.monotonic())
        if case .massDeletion(let lost, let all) = verdict { throw ProgramRefusal.massDeletion(lost: lost, of: all) }
    }

    /// A program has removed a name, as `requireRemovable` let it.
    func noteRemoved(_ name: String, in scope: DeletionGuard.Scope, _ work: inout FolderWork) {
        work.memory.deletionGuard.noted(gone: [name], lost: 1, in: scope, at: folder.tools.time.monotonic())
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
