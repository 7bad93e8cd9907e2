import BlockExchange
import Cryptography
import FileAccess
import NIOCore
import NIOPosix

/// Gets many files of at most one block each, all at once: what `StagedFetch` does for each of them is done here once
/// for all, and each is asked of one device only. Files that do not come this way are left to `StagedFetch`.
struct SmallFileFetch: Sendable {
    /// Files larger than this are fetched one by one: a file up to here has one block, whatever its block size.
    static let byteLimit = Int64(BlockSize.minimum)

    struct Item: Sendable {
        /// With its blocks.
        var file: FileInfo
        var path: RelativePath
        var holders: [DeviceID]
    }

    let folder: FolderID
    let root: RootDirectory
    let environment: FetchEnvironment
    /// Bytes that must stay free on the disk.
    let freeSpaceFloor: UInt64
    /// Whether each is asked for when the one before has come, so that every run with the same inputs is the same.
    let isInOrder: Bool

    /// Gives each file staged, in the order of the items; nil for those that are left over. Throws `CancellationError`.
    func run(_ items: [Item]) async throws -> [StagedFile?] {
        let sessions = environment.sessions(Array(Set(items.flatMap(\.holders))))
        // A block that is on this disk is not asked for; and what is left of an earlier try is worth nothing here.
        let here = await environment.blocksHere(
            items.filter { $0.file.size > 0 }.flatMap { $0.file.blocks.map(\.hash) })
        let bytes = try await withThrowingTaskGroup(of: (Int, ByteBuffer?).self) { group in
            var bytes = [ByteBuffer?](repeating: nil, count: items.count)
            for (position, item) in items.enumerated() {
                if item.file.size == 0 {
                    bytes[position] = ByteBuffer()
                    continue
                }
                guard item.file.blocks.count == 1, let block = item.file.blocks.first, !here.contains(block.hash),
                    Int64(block.size) == item.file.size, let session = session(for: item, position, sessions)
                else { continue }
                if isInOrder {
                    bytes[position] = try await request(block, of: item.file, session)
                } else {
                    group.addTask { (position, try await request(block, of: item.file, session)) }
                }
            }
            for try await (position, answer) in group { bytes[position] = answer }
            return bytes
        }
        return try await environment.threads.runIfActive { stage(items, bytes) }
    }

    /// Files are spread over the devices that hold them.
    private func session(
        for item: Item, _ position: Int, _ sessions: [DeviceID: any BlockSource]
    ) -> (any BlockSource)? {
        let connected = item.holders.filter { sessions[$0] != nil }
        return connected.isEmpty ? nil : sessions[connected[position % connected.count]]
    }

    private func request(_ block: BlockInfo, of file: FileInfo, _ session: any BlockSource) async throws -> ByteBuffer?
    {
        let request = BlockRequest(
            folder: folder, name: file.name, offset: 0, size: block.size, hash: block.hash, weakHash: block.weakHash,
            blockIndex: 0)
        do {
            return try await environment.budget.withUnits(Int(block.size)) {
                try await session.request(request, isBulk: true)
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            return nil
        }
    }

    /// Writes what came and is right.
    private func stage(_ items: [Item], _ bytes: [ByteBuffer?]) -> [StagedFile?] {
        let needed = bytes.reduce(UInt64(0)) { $0 + UInt64($1?.readableBytes ?? 0) }
        guard let free = try? root.freeSpace().available, free >= freeSpaceFloor, free - freeSpaceFloor >= needed else {
            return items.map { _ in nil }
        }
        var directories: [RelativePath?: Directory] = [:]
        return zip(items, bytes).map { item, bytes in
            guard let bytes, bytes.readableBytes == item.file.size,
                item.file.size == 0
                    || bytes.withUnsafeReadableBytes({ SHA256.digest($0) }) == item.file.blocks.first?.hash
            else { return nil }
            // What goes wrong here goes wrong for `StagedFetch` as well, which says it.
            return try? stage(item, bytes, &directories)
        }
    }

    private func stage(
        _ item: Item, _ bytes: ByteBuffer, _ directories: inout [RelativePath?: Directory]
    ) throws -> StagedFile {
        let parent = item.path.parent
        let directory: Directory
        if let known = directories[parent] {
            directory = known
        } else {
            directory = try parent.map { try root.createDirectories($0) } ?? root.directory(nil)
            directories[parent] = directory
        }
        let staged = try root.stage(item.path, in: directory, resuming: true)
        if item.file.size > 0 { try bytes.withUnsafeReadableBytes { try staged.write($0, at: 0) } }
        if staged.resumedByteCount > item.file.size { try staged.truncate(to: item.file.size) }
        return staged
    }
}
