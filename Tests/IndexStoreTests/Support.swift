import BlockExchange
import Cryptography
import SyncTestKit

@testable import IndexStore

extension TemporaryDirectory {
    /// The file in which tests put their index.
    var index: String { path + "/index.sqlite" }
}

let music = FolderID("music")
let alice = DeviceID(certificateDER: Array("alice".utf8))
let bob = DeviceID(certificateDER: Array("bob".utf8))
let carol = DeviceID(certificateDER: Array("carol".utf8))

/// An index with the folder `music` in a directory of its own.
struct TestIndex {
    let directory: TemporaryDirectory
    let store: IndexStore

    init(blocksCaller: Bool = false, quota: IndexStore.Quota = IndexStore.Quota()) async throws {
        directory = try TemporaryDirectory()
        store = try IndexStore.open(
            path: directory.index, cacheBytes: 4 << 20, quota: quota, blocksCaller: blocksCaller)
        try await store.addFolder(music, newIndexID: IndexID(rawValue: 0xA1))
    }

    /// `device` announces `files`.
    @discardableResult
    func announce(
        _ files: [FileInfo], by device: DeviceID, replacesAll: Bool = false, ignoring: Set<String> = []
    ) async throws -> ApplyResult {
        try await store.applyIndex(of: music, device: device, files: files, replacesAll: replacesAll) {
            ignoring.contains($0)
        }
    }
}

func version(_ counters: (DeviceID, UInt64)...) -> VersionVector {
    VersionVector(counters.map { .init(id: $0.0.shortID, value: $0.1) })
}

func hash(_ number: UInt64) -> SHA256Digest { withUnsafeBytes(of: number.bigEndian) { SHA256.digest($0) } }

/// A file of one block as a peer announces it.
func file(
    _ name: String, _ version: VersionVector, size: Int64 = 10, modified: Int64 = 1_000, sequence: Int64 = 1,
    content: UInt64 = 0
) -> FileInfo {
    FileInfo(
        name: name, size: size, modifiedSeconds: modified, version: version, sequence: sequence,
        modifiedBy: alice.shortID, blockSize: 131_072,
        blocks: [BlockInfo(offset: 0, size: Int32(size), hash: hash(content))])
}

/// A file of several blocks: sizes, and what each holds.
func file(_ name: String, _ version: VersionVector, blocks: [(size: Int32, content: UInt64)]) -> FileInfo {
    var offset: Int64 = 0
    var file = file(name, version)
    file.blocks = blocks.map { block in
        defer { offset += Int64(block.size) }
        return BlockInfo(offset: offset, size: block.size, hash: hash(block.content))
    }
    file.size = offset
    return file
}

func directory(_ name: String, _ version: VersionVector, sequence: Int64 = 1) -> FileInfo {
    FileInfo(name: name, kind: .directory, permissions: 0o755, version: version, sequence: sequence)
}

func link(_ name: String, _ version: VersionVector, modified: Int64 = 1_000, sequence: Int64 = 1) -> FileInfo {
    FileInfo(
        name: name, kind: .symlink, modifiedSeconds: modified, version: version, sequence: sequence,
        modifiedBy: alice.shortID, symlinkTarget: Array("../elsewhere".utf8))
}

func deleted(_ name: String, _ version: VersionVector, modified: Int64 = 2_000, sequence: Int64 = 1) -> FileInfo {
    FileInfo(name: name, modifiedSeconds: modified, isDeleted: true, version: version, sequence: sequence)
}

extension FileInfo {
    /// As it is read from the wire when its device takes it back.
    var asInvalid: FileInfo {
        var file = self
        file.isInvalid = true
        (file.blocks, file.size, file.blocksHash) = ([], 0, nil)
        return file
    }

    /// With the hash over its blocks, as it comes out of the index.
    var withBlocksHash: FileInfo {
        var file = self
        file.blocksHash = FileInfo.blocksHash(of: blocks)
        return file
    }

    /// Without blocks, with the hash over them.
    var withoutBlockList: FileInfo {
        var file = self
        file.blocks = []
        return file
    }

    /// As it is listed: without blocks.
    var withoutBlocks: FileInfo {
        var file = self
        file.blocks = []
        file.blocksHash = nil
        return file
    }
}

/// The error that `body` throws, if it is one of the index.
func indexError(_ body: () async throws -> Void) async -> IndexStoreError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? IndexStoreError
    }
}
