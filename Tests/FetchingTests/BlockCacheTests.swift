import Cryptography
import Foundation
import NIOCore
import SyncTestKit
import Testing

@testable import Fetching

@Suite struct BlockCacheTests {
    let directory = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)").path

    func block(_ number: Int, size: Int = 1000) -> (bytes: [UInt8], hash: SHA256Digest) {
        var generator = SeededGenerator(seed: UInt64(number))
        let bytes = (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return (bytes, SHA256.digest(bytes))
    }

    @Test func keepsBlocksOverARestartAndGivesUpTheLeastRecentlyUsed() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let blocks = (0..<6).map { block($0) }
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        for block in blocks[0..<4] { cache.keep(block.bytes, hash: block.hash) }
        #expect(cache.block(blocks[0].hash) == blocks[0].bytes)
        cache.keep(blocks[4].bytes, hash: blocks[4].hash)
        #expect(cache.block(blocks[1].hash) == nil)
        #expect(cache.block(blocks[0].hash) == blocks[0].bytes)
        #expect(cache.byteCount == 4000)

        let reopened = try BlockCache(directory: directory, byteLimit: 4000)
        #expect(reopened.byteCount == 4000)
        #expect(reopened.block(blocks[4].hash) == blocks[4].bytes)
        let smaller = try BlockCache(directory: directory, byteLimit: 1500)
        #expect(smaller.byteCount == 1000)
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        #expect(files.count { $0.contains("/") } == 1)
    }

    @Test func aDamagedBlockIsMissingAndRemoved() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = try BlockCache(directory: directory, byteLimit: 1 << 20)
        let block = block(1)
        cache.keep(block.bytes, hash: block.hash)
        let name = block.hash.description
        let path = "\(directory)/\(name.prefix(2))/\(name)"
        var damaged = block.bytes
        damaged[500] ^= 1
        try Data(damaged).write(to: URL(fileURLWithPath: path))
        #expect(cache.block(block.hash) == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(cache.byteCount == 0)
        cache.keep(block.bytes, hash: block.hash)
        #expect(cache.block(block.hash) == block.bytes)
    }

    /// Whoever empties the directory while it is used loses what was in it, and nothing else.
    @Test func whatWasBeingWrittenIsNotLeft() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        let blocks = (0..<2).map { block($0) }
        cache.keep(ByteBuffer(bytes: blocks[0].bytes), hash: blocks[0].hash)
        #expect(cache.block(blocks[0].hash) == blocks[0].bytes)
        try Data(count: 10).write(to: URL(fileURLWithPath: "\(directory)/new/1-1"))
        _ = try BlockCache(directory: directory, byteLimit: 4000)
        #expect(!FileManager.default.fileExists(atPath: "\(directory)/new/1-1"))
        cache.keep(blocks[1].bytes, hash: blocks[1].hash)
        #expect(cache.block(blocks[1].hash) == blocks[1].bytes)
    }

    @Test func aBlockLargerThanTheCacheIsNotKept() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = try BlockCache(directory: directory, byteLimit: 999)
        let block = block(1)
        cache.keep(block.bytes, hash: block.hash)
        #expect(cache.block(block.hash) == nil)
        #expect(cache.byteCount == 0)
    }

    /// The directory may hold anything: files of any size, sparse ones too, under the names of blocks.
    @Test(arguments: [0, (16 << 20) + 1, 1 << 40] as [UInt64])
    func aFileThatCanBeNoBlockIsNotCounted(size: UInt64) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let blocks = (0..<3).map { block($0) }
        let cache = try BlockCache(directory: directory, byteLimit: 4000)
        for block in blocks { cache.keep(block.bytes, hash: block.hash) }
        let path = "\(directory)/\(blocks[2].hash.description.prefix(2))/\(blocks[2].hash)"
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: size)
        try file.close()

        let reopened = try BlockCache(directory: directory, byteLimit: 4000)
        #expect(reopened.byteCount == 2000)
        #expect(reopened.block(blocks[0].hash) == blocks[0].bytes)
        #expect(reopened.block(blocks[2].hash) == nil)
        // Its place is taken by the block, when that comes.
        reopened.keep(blocks[2].bytes, hash: blocks[2].hash)
        #expect(reopened.block(blocks[2].hash) == blocks[2].bytes)
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
