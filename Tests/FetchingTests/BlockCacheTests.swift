import BlockExchange
import Cryptography
import Foundation
import NIOCore
import SyncTestKit
import Testing

@testable import Fetching

@Suite struct BlockCacheTests {
    let directory = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)").path
    let docs = FolderID("docs")

    /// Where the block's bytes are.
    func path(of hash: SHA256Digest) -> String {
        let folder = SHA256.digest(Array(docs.rawValue.utf8))
        return "\(directory)/\(folder)/\(hash.description.prefix(2))/\(hash)"
    }

    func block(_ number: Int, size: Int = 1000) -> (bytes: [UInt8], hash: SHA256Digest) {
        var generator = SeededGenerator(seed: UInt64(number))
        let bytes = (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return (bytes, SHA256.digest(bytes))
    }

    @Test func keepsBlocksOverARestartAndGivesUpTheLeastRecentlyUsed() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let blocks = (0..<6).map { block($0) }
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        for block in blocks[0..<4] { cache.keep(block.bytes, hash: block.hash, of: docs) }
        #expect(cache.block(blocks[0].hash, of: [docs]) == blocks[0].bytes)
        cache.keep(blocks[4].bytes, hash: blocks[4].hash, of: docs)
        #expect(cache.block(blocks[1].hash, of: [docs]) == nil)
        #expect(cache.block(blocks[0].hash, of: [docs]) == blocks[0].bytes)
        #expect(cache.byteCount == 4000)

        let reopened = try BlockCache(directory: directory, byteLimit: 4000)
        #expect(reopened.byteCount == 4000)
        #expect(reopened.block(blocks[4].hash, of: [docs]) == blocks[4].bytes)
        let smaller = try BlockCache(directory: directory, byteLimit: 1500)
        #expect(smaller.byteCount == 1000)
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        #expect(files.count { $0.split(separator: "/").count == 3 } == 1)
    }

    @Test func keepsBlocksOnceItsDirectoryWasRemoved() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = try BlockCache(directory: directory, byteLimit: 1 << 20)
        let (former, new) = (block(1), block(2))
        cache.keep(former.bytes, hash: former.hash, of: docs)
        try FileManager.default.removeItem(atPath: directory)
        #expect(cache.block(former.hash, of: [docs]) == nil)
        for block in [former, new] {
            cache.keep(block.bytes, hash: block.hash, of: docs)
            #expect(cache.block(block.hash, of: [docs]) == block.bytes)
        }
        #expect(cache.byteCount == 2000)
    }

    @Test func aDamagedBlockIsMissingAndRemoved() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = try BlockCache(directory: directory, byteLimit: 1 << 20)
        let block = block(1)
        cache.keep(block.bytes, hash: block.hash, of: docs)
        let path = path(of: block.hash)
        var damaged = block.bytes
        damaged[500] ^= 1
        try Data(damaged).write(to: URL(fileURLWithPath: path))
        #expect(cache.block(block.hash, of: [docs]) == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(cache.byteCount == 0)
        cache.keep(block.bytes, hash: block.hash, of: docs)
        #expect(cache.block(block.hash, of: [docs]) == block.bytes)
    }

    /// Whoever empties the directory while it is used loses what was in it, and nothing else.
    @Test func whatWasBeingWrittenIsNotLeft() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        let blocks = (0..<2).map { block($0) }
        cache.keep(ByteBuffer(bytes: blocks[0].bytes), hash: blocks[0].hash, of: docs)
        #expect(cache.block(blocks[0].hash, of: [docs]) == blocks[0].bytes)
        try Data(count: 10).write(to: URL(fileURLWithPath: "\(directory)/new/1-1"))
        _ = try BlockCache(directory: directory, byteLimit: 4000)
        #expect(!FileManager.default.fileExists(atPath: "\(directory)/new/1-1"))
        cache.keep(blocks[1].bytes, hash: blocks[1].hash, of: docs)
        #expect(cache.block(blocks[1].hash, of: [docs]) == blocks[1].bytes)
    }

    @Test func aBlockIsFoundForItsFoldersOnly() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (photos, music) = (FolderID("photos"), FolderID("music"))
        let block = block(1)
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        cache.keep(block.bytes, hash: block.hash, of: docs)
        for cache in [cache, try BlockCache(directory: directory, byteLimit: 4000)] {
            #expect(cache.block(block.hash, of: [photos]) == nil)
            #expect(!cache.contains(block.hash, of: [photos, music]))
            #expect(cache.contains(block.hash, of: [photos, docs]))
            #expect(cache.block(block.hash, of: [photos, docs]) == block.bytes)
        }
        cache.keep(block.bytes, hash: block.hash, of: photos)
        #expect(cache.byteCount == 2000)
        // Of one folder it goes, of the other it stays.
        cache.removeAll(but: [photos, music])
        #expect(cache.block(block.hash, of: [docs, music]) == nil)
        #expect(cache.block(block.hash, of: [photos]) == block.bytes)
        #expect(cache.byteCount == 1000)
        #expect(!FileManager.default.fileExists(atPath: path(of: block.hash)))
        // A folder that was removed may come again.
        cache.keep(block.bytes, hash: block.hash, of: docs)
        #expect(cache.block(block.hash, of: [docs]) == block.bytes)
    }

    @Test func whatWasKeptForAllFoldersGoes() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let block = block(1)
        let shelf = "\(directory)/\(block.hash.description.prefix(2))"
        try FileManager.default.createDirectory(atPath: shelf, withIntermediateDirectories: true)
        try Data(block.bytes).write(to: URL(fileURLWithPath: "\(shelf)/\(block.hash)"))
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        #expect(cache.byteCount == 0)
        #expect(cache.block(block.hash, of: [docs]) == nil)
        #expect(!FileManager.default.fileExists(atPath: shelf))
    }

    @Test func aBlockLargerThanTheCacheIsNotKept() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = try BlockCache(directory: directory, byteLimit: 999)
        let block = block(1)
        cache.keep(block.bytes, hash: block.hash, of: docs)
        #expect(cache.block(block.hash, of: [docs]) == nil)
        #expect(cache.byteCount == 0)
    }

    /// The directory may hold anything: files of any size, sparse ones too, under the names of blocks.
    @Test(arguments: [0, (16 << 20) + 1, 1 << 40] as [UInt64])
    func aFileThatCanBeNoBlockIsNotCounted(size: UInt64) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let blocks = (0..<3).map { block($0) }
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        for block in blocks { cache.keep(block.bytes, hash: block.hash, of: docs) }
        let file = try #require(FileHandle(forWritingAtPath: path(of: blocks[2].hash)))
        try file.truncate(atOffset: size)
        try file.close()

        let reopened = try BlockCache(directory: directory, byteLimit: 4000)
        #expect(reopened.byteCount == 2000)
        #expect(reopened.block(blocks[0].hash, of: [docs]) == blocks[0].bytes)
        #expect(reopened.block(blocks[2].hash, of: [docs]) == nil)
        // Its place is taken by the block, when that comes.
        reopened.keep(blocks[2].bytes, hash: blocks[2].hash, of: docs)
        #expect(reopened.block(blocks[2].hash, of: [docs]) == blocks[2].bytes)
    }

    @Test func useOrderIsLeastRecentFirst() {
        var order = UseOrder<SHA256Digest>()
        let keys = (0..<4).map { block($0, size: 1).hash }
        for key in keys { order.use(key) }
        order.use(keys[0])
        order.forget(keys[2])
        var taken: [SHA256Digest] = []
        while let key = order.takeOldest() { taken.append(key) }
        #expect(taken == [keys[1], keys[3], keys[0]])
    }
}
