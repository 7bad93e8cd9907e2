import BlockExchange
import FileAccess
import FolderSync
import IndexStore
import MountProtocol

/// Reads what a mount shows from index and disk.
struct MountListing: Sendable {
    let entries: EntrySource
    let folder: Folder

    private var reader: EntryReader { entries.reader(folder) }

    /// The entry at `path`; nil if there is none.
    func look(_ path: String) async throws -> MountEntry? {
        guard !path.isEmpty else { return Self.root(try await rootStatus()) }
        guard let relative = RelativePath(path), !isHidden(path) else { return nil }
        let reader = reader
        let found = try await entries.index.global(folder.id, path)
        let onDisk = try await onDisk([relative], reader)[relative.name]
        guard onDisk != nil || found?.isHereByIndex != true else { return nil }
        return MountTree.entry(
            relative.name, found?.file, isDirectory: found?.isDirectory ?? false, onDisk: onDisk)
    }

    /// Names in `directory` behind `after`; nil if it is none.
    func page(_ directory: String, after: String?, limit: Int) async throws -> (entries: [MountEntry], isLast: Bool)? {
        var after = after
        while true {
            let part = try await part(directory, after: after, limit: limit)
            guard part.entries.isEmpty, !part.isLast, let end = part.end else { return (part.entries, part.isLast) }
            // All of these are the folder's own, or were removed here.
            after = end
        }
    }

    /// The names of at most `limit` entries that there are to show, and behind which name the next are.
    private func part(
        _ directory: String, after: String?, limit: Int
    ) async throws -> (entries: [MountEntry], isLast: Bool, end: String?) {
        let reader = reader
        let children = try await entries.index.children(folder.id, of: directory, after: after, limit: limit)
        let prefix = directory.isEmpty ? "" : directory + "/"
        var names = try await reader.namesOnDisk(in: RelativePath(directory), orNil: false)
        if let after { names = names.filter { MountTree.precedes(after, $0.key) } }
        // Behind the last of the index's page come those of the next.
        let isFull = children.count == limit
        if isFull, let last = children.last {
            names = names.filter { !MountTree.precedes(String(last.name), $0.key) }
        }
        var shown = names.keys.filter { !isHidden(prefix + $0) && RelativePath(prefix + $0)?.isTemporary == false }
            .sorted(by: MountTree.precedes)
        let hasMoreOnDisk = shown.count > limit
        shown = Array(shown.prefix(limit))
        let here = try await onDisk(shown.compactMap { RelativePath(prefix + $0) }, reader)
        let files = Dictionary(children.map { (String($0.name), $0.file) }, uniquingKeysWith: { first, _ in first })
        let local = shown.compactMap { name in
            here[name].flatMap { MountTree.entry(name, files[name] ?? nil, isDirectory: false, onDisk: $0) }
        }
        let announced = children.compactMap { child -> MountEntry? in
            guard !isHidden(child.path), !child.isHereByIndex || names[String(child.name)] != nil else { return nil }
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

    /// What is the folder's own and not the user's.
    private func isHidden(_ path: String) -> Bool {
        InternalContent.contains(path) || RelativePath(path)?.isInternal != false
    }

    /// What is on this disk of these paths, all in one directory, by their names.
    private func onDisk(_ paths: [RelativePath], _ reader: EntryReader) async throws -> [String: MountTree.OnDisk] {
        guard let place = reader.place, !paths.isEmpty else { return [:] }
        return try await reader.threads.runIfActive {
            var found: [String: MountTree.OnDisk] = [:]
            for path in paths {
                guard let status = try place.root.status(of: path), try place.root.twin(of: path) == nil else {
                    continue
                }
                let target = status.type == .symlink ? try place.root.readSymlink(path) : []
                found[path.name] = MountTree.OnDisk(status: status, target: target)
            }
            return found
        }
    }

    private func rootStatus() async throws -> FileAccess.FileStatus? {
        guard let place = reader.place else { return nil }
        return try await reader.threads.runIfActive { try place.root.status() }
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
