import AgentConfiguration
import FileAccess
import Phrases
import Reconciliation

/// What a folder keeps of what is replaced and deleted in it.
package struct ArchiveAccess: Sendable {
    package let root: RootDirectory
    package let settings: FolderVersions
    /// Unix seconds.
    package let now: Int64
    package let utcOffset: @Sendable (Int64) -> Int64
    let writing: WritingBoard

    /// Opens the folder's archive; nil if it keeps nothing, or, unless it is to be made, has none yet. Blocks its thread.
    ///
    /// - Throws: as `VersionArchive.open`.
    package func open(isCreating: Bool = true) throws -> VersionArchive? {
        if isCreating, settings.kind == .none { return nil }
        return try VersionArchive.open(of: root, settings, isCreating: isCreating, now: now, utcOffset: utcOffset)
    }

    /// Takes a user's file or symbolic link away from its place on purpose, into the archive if the folder has one;
    /// nothing but a file goes there. Gives the version that it is in the archive, nil if it is gone. Blocks its thread.
    ///
    /// - parameter durability: with `.deferred` the caller calls `synchronizeFileSystem`.
    /// - Throws: `changedOnDisk` if what is there is not what was `expected`, and what the archive says.
    @discardableResult
    func takeOrRemove(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, durability: Durability = .immediate
    ) throws -> VersionArchive.Version? {
        guard expected.type == .regular, let archive = try open() else {
            try root.remove(path, expecting: expected, durability: durability)
            return nil
        }
        let archived = try archive.take(path, expecting: expected, durability: durability)
        try archive.expire(after: [archived])
        return try archive.version(at: archived)
    }

    /// Removes a file or symbolic link of the user's from this disk because somebody asked for it, and not because another
    /// device replaced or deleted it. Blocks; the change is durable when the caller has called `synchronizeFileSystem`.
    ///
    /// - parameter expected: what was seen there; anything else stays, and `changedOnDisk` is thrown.
    /// - Throws: `busy` if a program has the file open for writing, and what the archive says.
    @discardableResult
    func removeUserFile(
        _ path: RelativePath, expecting expected: FileAccess.FileStatus, purpose: RemovalPurpose
    ) throws -> RemovedFile {
        // Nothing opens it through a mount from here on.
        let isOpen = !writing.place([path.text]).isEmpty
        defer { if !isOpen { writing.placed([path.text]) } }
        if try isOpen || expected.type == .regular && root.isBeingWritten(path) {
            throw FileAccessError(.busy, .remove, path: path.text)
        }
        guard purpose == .deleting, try root.status(of: path) != nil else {
            return RemovedFile(wasThere: try root.remove(path, expecting: expected, durability: .deferred))
        }
        return RemovedFile(
            wasThere: true, archived: try takeOrRemove(path, expecting: expected, durability: .deferred))
    }

    /// Lets the oldest conflict copies of a name go, if the folder keeps only so many; gives their names. Blocks.
    ///
    /// - parameters:
    ///   - made: the copy that was made last, which stays.
    ///   - limit: copies that are kept; all of them if negative.
    func removeExcessConflicts(
        of path: RelativePath, besides made: RelativePath, limit: Int
    ) throws -> Set<RelativePath> {
        guard limit >= 0 else { return [] }
        let names = try root.list(path.parent).compactMap(\.name).map { name in
            path.parent.map { $0.text + "/" + name } ?? name
        }
        var statuses: [String: FileAccess.FileStatus] = [:]
        for name in ConflictName.copies(of: path.text, among: names) {
            guard let status = try root.status(of: RelativePath(parsing: name)), status.type != .directory else {
                continue
            }
            statuses[name] = status
        }
        let copies = statuses.map { (name: $0.key, seen: $0.value.changed ?? $0.value.modified) }
        var removed: Set<RelativePath> = []
        for name in ConflictName.excess(among: copies, besides: made.text, limit: limit) {
            guard let copy = RelativePath(name), let status = statuses[name] else { continue }
            if status.type == .regular, let archive = try open() {
                let archived = try archive.take(copy, expecting: status, durability: .deferred)
                try archive.expire(after: [archived])
            } else {
                try root.remove(copy, expecting: nil, durability: .deferred)
            }
            removed.insert(copy)
        }
        return removed
    }
}

/// What became of a file of the user's that was to go from this disk.
struct RemovedFile: Sendable {
    var wasThere: Bool
    /// The version that it is in the archive; nil if it is gone.
    var archived: VersionArchive.Version?
}

/// Why a file of the user's goes from this disk by its user's own wish.
enum RemovalPurpose: Hashable, Sendable {
    /// To free its space: other devices have the very same.
    case freeing
    /// To free its space, though it may be the last of its kind: the user was told and agreed.
    case givingUp
    /// Because it is not wanted any more: it goes to the folder's archive, if there is one.
    case deleting
}

extension FolderContext {
    package var archive: ArchiveAccess {
        ArchiveAccess(root: root, settings: settings.versions, now: now, utcOffset: tools.utcOffset, writing: writing)
    }
}

/// Has an archive outside of the folder made before anything goes there.
struct PrepareArchiveStep: FolderStep {
    /// Whether there is nothing to do for settings that it has seen.
    var onlyAfterChange = false

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        if onlyAfterChange, work.memory.preparedArchive == folder.settings.versions { return }
        work.memory.preparedArchive = folder.settings.versions
        let (versions, store, root) = (folder.settings.versions, folder.index.store, folder.root)
        let note = try await store.archive(of: folder.id)
        guard versions.kind != .none, let path = versions.path else {
            // What it is set to from now on is not from before.
            if note == .unknown, versions.path == nil { try await store.setArchive(nil, of: folder.id) }
            return
        }
        do {
            guard try await folder.onDisk({ try VersionArchive.prepare(at: path, of: root, note: note) }) else {
                // Taken over as soon as it is there.
                if note == .unknown { work.memory.preparedArchive = nil }
                return
            }
        } catch let error as any PhrasedError {
            // What is to be archived stays in its place, and says so.
            return folder.logger.warning("old versions cannot be archived: \(error.text.english)")
        }
        if note != .made(path) { try await store.setArchive(path, of: folder.id) }
    }
}

/// Lets versions go that the folder's rules do not keep any more.
struct CleanArchiveStep: FolderStep {
    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        try await PrepareArchiveStep().run(folder, &work)
        let archive = folder.archive
        try await folder.onDisk {
            guard archive.settings.kind != .none else { return }
            try archive.open(isCreating: false)?.clean()
        }
    }
}
