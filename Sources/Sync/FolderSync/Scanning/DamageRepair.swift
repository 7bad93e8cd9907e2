import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import IndexStore

/// Rebuilds a damaged file beside its place: its good blocks are copied, the others come from other devices, and all are
/// verified. Changes nothing in the place.
struct DamageRepair: Sendable {
    let folder: FolderContext
    let damaged: DamagedFile

    /// The other devices that have the version that is here.
    static func holders(_ facts: NameFacts) -> [DeviceID] {
        guard let global = facts.global, let local = facts.local, global.version == local.file.version else {
            return []
        }
        return facts.holders
    }

    /// The same, for a person: which could restore the file.
    static func told(of file: DamagedFile, in folder: FolderContext) async throws -> [ScrubEvent.Holder] {
        let holders = try await folder.index.facts(file.name).map(holders) ?? []
        let connected = folder.tools.fetching.sessions(holders)
        return holders.map {
            ScrubEvent.Holder(
                device: $0.description, name: folder.tools.name(of: $0), isConnected: connected[$0] != nil)
        }
    }

    /// - Returns: what is to be put into the place, and how many bytes other devices sent.
    /// - Throws: `FetchError` if the file is another by now, or no device has the blocks; `FileAccessError`.
    func stage() async throws -> (placement: StagedPlacement, fetched: Int64) {
        let name = damaged.name
        guard let path = RelativePath(name), let facts = try await folder.index.facts(name),
            let local = try await folder.index.store.local(folder.id, name), local.status?.inode == damaged.inode,
            local.flags.isSubset(of: .ignored), facts.local?.file.blocksHash == damaged.expected,
            let known = FileAccess.FileStatus(local)
        else { throw FetchError.outdated(name) }
        let root = folder.root
        let seen = try await folder.onDisk { try root.status(of: path) }
        guard let seen, seen.isUnchanged(since: known) else {
            throw FileAccessError(.changedOnDisk, .read, path: name)
        }
        let fetched = ByteCounter()
        let file = local.file
        let staged = try await StagedFetch(
            folder: folder.id, file: file, holders: Self.holders(facts), target: FetchTarget(root: root, path: path),
            environment: folder.tools.fetching, freeSpaceFloor: folder.freeSpaceFloor(of: try root.freeSpace())
        ).run { bytes, device in if device != nil { await fetched.add(bytes) } }
        let hasPermissions = !file.hasNoPermissions && !folder.ignoresPermissions(at: file.name)
        let commit = StagedCommit(
            staged, replacing: .exactly(seen), permissions: hasPermissions ? file.permissions & 0o777 : nil,
            modified: FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds))
        // With the time in its name in the archive: no good old version gives way to it.
        let placement = StagedPlacement(
            position: 0, content: .version(file), path: path, root: root, replacement: .exactly(seen), commit: commit,
            fate: .archivedWithTime, isRequested: true)
        return (placement, await fetched.count)
    }
}

private actor ByteCounter {
    private(set) var count: Int64 = 0

    func add(_ bytes: Int64) { count &+= bytes }
}
