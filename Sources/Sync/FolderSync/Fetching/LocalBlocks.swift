import AsyncTools
import BlockExchange
import Cryptography
import Fetching
import FileAccess
import IndexStore
import NIOCore
import SyncDecisions

// bounded-names: size: a key of a dictionary

/// Finds blocks that need no network: in the cache, and in files on this disk. For a folder it looks in that folder, and in the
/// others that `BlockOrigins` allows.
package struct LocalBlocks: Sendable {
    package let cache: BlockCache
    package let index: IndexStore
    package let folders: FolderRegistry
    package let threads: any DiskThreads

    private let localDevice: DeviceID

    package init(
        of localDevice: DeviceID, cache: BlockCache, index: IndexStore, folders: FolderRegistry,
        threads: any DiskThreads
    ) {
        self.localDevice = localDevice
        self.cache = cache
        self.index = index
        self.folders = folders
        self.threads = threads
    }

    /// Those of `hashes` that `block` may find.
    package func blocksHere(_ hashes: [SHA256Digest], for folder: FolderID) async -> Set<SHA256Digest> {
        let origins = others(for: folder).union([folder])
        guard let onDisk = try? await index.blocksOnDisk(hashes, in: origins) else { return Set(hashes) }
        return onDisk.union(hashes.filter { cache.contains($0, of: origins) || ZeroBlock.isOne($0) })
    }

    /// The verified bytes of a block; nil if it is not here.
    package func block(_ block: BlockInfo, for folder: FolderID) async -> ByteBuffer? {
        let count = Int(block.size)
        if count == 0 { return ByteBuffer() }
        if block.hash == ZeroBlock.hash(ofSize: count) { return ByteBuffer(repeating: 0, count: count) }
        let others = others(for: folder)
        if let bytes = try? await threads.runIfActive({ cache.block(block.hash, of: others.union([folder])) }),
            bytes.count == count
        {
            return ByteBuffer(bytes: bytes)
        }
        // An index that cannot be read only means that the network is asked.
        let places = (try? await index.localBlocks(block.hash, in: folder, or: others)) ?? []
        for place in places where place.size == block.size {
            guard let path = RelativePath(place.path),
                case .success(let folder)? = folders.folder(place.folder)?.boards.places.current,
                let bytes = try? await threads.runIfActive({
                    try folder.root.open(reading: path).read(count: count, at: place.offset)
                }), SHA256.digest(bytes) == block.hash
            else { continue }
            return ByteBuffer(bytes: bytes)
        }
        return nil
    }

    /// The other folders whose blocks may be used for `folder` as both are shared now.
    private func others(for folder: FolderID) -> Set<FolderID> {
        guard let target = folders.folder(folder) else { return [] }
        return BlockOrigins.others(for: sharing(of: target), among: folders.all.map { sharing(of: $0) })
    }

    private func sharing(of folder: Folder) -> BlockOrigins.Sharing {
        let devices = folder.configuration.devices.filter { $0 != localDevice && folder.exchange.isTrusted($0) }
        return BlockOrigins.Sharing(folder: folder.id, devices: Set(devices))
    }
}

/// Blocks of nothing but zeros are known by their hash and never asked of anyone.
enum ZeroBlock {
    private static let hashes: [Int: SHA256Digest] = {
        var hashes: [Int: SHA256Digest] = [:]
        var size = BlockSize.minimum
        while size <= BlockSize.maximum {
            hashes[size] = SHA256.digest([UInt8](repeating: 0, count: size))
            size *= 2
        }
        return hashes
    }()

    /// The hash of a whole block of zeros; nil for sizes that are no whole block's.
    static func hash(ofSize size: Int) -> SHA256Digest? { hashes[size] }

    static func isOne(_ hash: SHA256Digest) -> Bool { all.contains(hash) }

    private static let all = Set(hashes.values)
}
