import AsyncTools
import BlockExchange
import FileAccess
import FolderSync
import IndexStore
import MountProtocol
import Names

/// Reads what a mount shows from index and disk. What ends in `Now` blocks its thread.
struct MountListing: Sendable {
    let entries: EntrySource
    let folder: Folder

    /// The entry at `path`; nil if there is none.
    func look(_ path: String) async throws -> MountEntry? {
        try await entries.fetching.threads.runIfActive { try lookNow(path) }
    }

    func lookNow(_ path: String) throws -> MountEntry? { try findNow(path).entry }

    typealias Found = (entry: MountEntry?, index: GlobalEntry?)

    /// The same with what the index has.
    ///
    /// - Throws: `MountFailure.unreadable` where only the disk could tell, and the folder's place cannot be opened.
    func findNow(_ path: String) throws -> Found {
        guard !path.isEmpty else { return (Self.root(try place?.root.status()), nil) }
        guard let relative = RelativePath(path), !isHidden(path) else { return (nil, nil) }
        let found = try entries.index.globalNow(folder.id, path)
        let place = place
        var onDisk = try place.flatMap { try MountDirectory.open($0.root, relative.parent) }?.find(relative.name)
        if let place, let there = onDisk, try !formerVersions([(path, found?.file, there)], in: place).isEmpty {
            onDisk = nil
        }
        let isGone = onDisk == nil && found?.isHereByIndex == true
        let entry =
            isGone
            ? nil
            : MountTree.entry(
                relative.name, found?.file, isDirectory: found?.isDirectory ?? false, onDisk: onDisk)
        // Not there, as far as anybody knows, is not gone: a program would make it again, or forget it.
        guard entry != nil || place != nil else { throw MountFailure.unreadable }
        return (entry, found)
    }

    /// Names in `directory` behind `after`; nil if it is none.
    func page(_ directory: String, after: String?, limit: Int) async throws -> (entries: [MountEntry], isLast: Bool)? {
        try await entries.fetching.threads.runIfActive { try pageNow(directory, after: after, limit: limit) }
    }

    func pageNow(_ directory: String, after: String?, limit: Int) throws -> (entries: [MountEntry], isLast: Bool)? {
        var after = after
        while true {
            let part = try part(directory, after: after, limit: limit)
            guard part.entries.isEmpty, !part.isLast, let end = part.end else { return (part.entries, part.isLast) }
            // All of these are the folder's own, or were removed here.
            after = end
        }
    }

    /// Whether a directory holds anything that is shown. Of one that may not be listed on this disk, only what is not here counts:
    /// the disk refuses to remove it if it holds anything there.
    func holdsSomething(_ directory: String) async throws -> Bool {
        do {
            return try await page(directory, after: nil, limit: 1)?.entries.isEmpty == false
        } catch let error as FileAccessError where error.code == .permission {
            return try await entries.fetching.threads.runIfActive { try holdsSomethingAbsentNow(directory) }
        }
    }

    private func holdsSomethingAbsentNow(_ directory: String) throws -> Bool {
        var after: String?
        while true {
            let children = try entries.index.childrenNow(
                folder.id, of: directory, after: after, limit: MountLimits.pageCount)
            if children.contains(where: { !$0.isHereByIndex && !isHidden($0.path) }) { return true }
            guard children.count == MountLimits.pageCount, let last = children.last else { return false }
            after = String(last.name)
        }
    }

    /// The names of at most `limit` entries that there are to show, and behind which name the next are.
    private func part(
        _ directory: String, after: String?, limit: Int
    ) throws -> (entries: [MountEntry], isLast: Bool, end: String?) {
        let children = try entries.index.childrenNow(folder.id, of: directory, after: after, limit: limit)
        let prefix = directory.isEmpty ? "" : directory + "/"
        let place = place
        let disk = try place.flatMap { try MountDirectory.open($0.root, RelativePath(directory)) }
        var names = Set(names: try disk?.names() ?? [])
        if let after { names = names.filter { MountTree.precedes(after, $0.text) } }
        // Behind the last of the index's page come those of the next.
        let isFull = children.count == limit
        if isFull, let last = children.last {
            names = names.filter { !MountTree.precedes(String(last.name), $0.text) }
        }
        var shown = names.map(\.text).filter {
            !isHidden(prefix + $0) && RelativePath(prefix + $0)?.isTemporary == false
        }
        .sorted(by: MountTree.precedes)
        let hasMoreOnDisk = shown.count > limit
        shown = Array(shown.prefix(limit))
        let files = Dictionary(
            children.map { (NameKey(String($0.name)), $0.file) }, uniquingKeysWith: { first, _ in first })
        let found = try shown.compactMap { name in try disk?.find(name).map { (name, files[name] ?? nil, $0) } }
        let former = try place.map { try formerVersions(found.map { (prefix + $0.0, $0.1, $0.2) }, in: $0) } ?? []
        let local = found.compactMap { name, file, onDisk in
            former.contains(prefix + name) ? nil : MountTree.entry(name, file, isDirectory: false, onDisk: onDisk)
        }
        let announced = children.compactMap { child -> MountEntry? in
            guard !isHidden(child.path), !child.isHereByIndex || names.contains(String(child.name)) else { return nil }
            return MountTree.entry(String(child.name), child.file, isDirectory: child.isDirectory, onDisk: nil)
        }
        let merged = MountTree.merged(announced, local, limit: limit)
        var byteCount = 0
        let fitting = merged.prefix { entry in
            byteCount += entry.byteCount
            return byteCount <= MountLimits.pageByteCount
        }
        // bounded: counts of lists in memory
        let isLast = fitting.count == announced.count + local.filter { files[$0.name] == nil }.count
        let end = hasMoreOnDisk ? shown.last : children.last.map { String($0.name) }
        return (Array(fitting), isLast && !isFull && !hasMoreOnDisk, end)
    }

    /// Which of some files on this disk were fetched there on purpose, are not selected, have not changed since, and are another version
    /// by now: what others have is shown in their place.
    private func formerVersions(
        _ files: [(path: String, file: FileInfo?, onDisk: MountTree.OnDisk)], in place: FolderPlace
    ) throws -> Set<NameKey> {
        let others = files.filter { path, file, onDisk in
            guard let file, !file.isDeleted, !file.isInvalid, onDisk.status.type == .regular else { return false }
            return !MountTree.isAnnounced(file, onDisk.status) && place.selection.isLeftOut(path)
        }
        let notes = try entries.index.fetchedNow(others.map(\.path), in: folder.id)
        return Set(names: others.filter { notes[$0.path].map($0.onDisk.status.isAs) ?? false }.map(\.path))
    }

    /// Nil when the folder's place cannot be opened: then the index alone speaks.
    private var place: FolderPlace? { try? folder.boards.places.current.get() }

    /// What is the folder's own and not the user's.
    private func isHidden(_ path: String) -> Bool {
        InternalContent.contains(path) || RelativePath(path)?.isInternal != false
    }

    private static func root(_ status: FileAccess.FileStatus?) -> MountEntry {
        var entry = MountEntry(
            name: "", kind: .directory, version: 0, size: 0, modifiedSeconds: 0, modifiedNanoseconds: 0,
            permissions: 0o755, isHere: status != nil)
        if let status {
            entry.modifiedSeconds = status.modified.seconds
            entry.permissions = UInt16(truncatingIfNeeded: status.permissions & 0o777)
        }
        return entry
    }
}

/// A directory of a folder on this disk, opened once for all names in it. Blocks its thread.
private struct MountDirectory {
    let root: RootDirectory
    let path: RelativePath?
    let directory: Directory
    let mayHaveTwins: Bool

    /// Nil for one that is not on this disk. On a disk that does not distinguish `A` and `a`, what is there may be another's.
    static func open(_ root: RootDirectory, _ path: RelativePath?) throws -> MountDirectory? {
        let directory: Directory
        do {
            directory = try root.directory(path)
        } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
        let mayHaveTwins = root.mayHaveTwins(in: directory)
        if mayHaveTwins, let path, try root.twin(of: path) != nil { return nil }
        return MountDirectory(root: root, path: path, directory: directory, mayHaveTwins: mayHaveTwins)
    }

    /// Without what is the folder's own in its root.
    func names() throws -> [String] {
        let list: [DirectoryEntry]
        do {
            list = try directory.list()
        } catch {
            guard error.isAbsence else { throw error }
            return []
        }
        return list.compactMap(\.name).filter { name in
            guard path == nil, let own = RelativePath(name) else { return true }
            return !own.isInternal && !(root.traits.foldsNames && own.internalTwin != nil)
        }
    }

    func find(_ name: String) throws -> MountTree.OnDisk? {
        guard let status = try directory.status(ofName: name) else { return nil }
        guard mayHaveTwins || status.type == .symlink else { return MountTree.OnDisk(status: status) }
        guard let path = try path.map({ try $0.appending(name) }) ?? RelativePath(name) else { return nil }
        if mayHaveTwins, try root.twin(of: path) != nil { return nil }
        return MountTree.OnDisk(status: status, target: status.type == .symlink ? try root.readSymlink(path) : [])
    }
}
