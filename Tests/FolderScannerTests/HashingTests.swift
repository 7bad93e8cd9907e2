import BlockExchange
import Cryptography
import FileAccess
import Foundation
import SyncTestKit
import Testing

@testable import FolderScanner

@Suite struct HashingTests {
    let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    private func contents(
        _ name: String, _ index: ModelIndex = ModelIndex(), workers: ScanOptions.Workers = .callingTask
    ) async throws -> FileContents {
        var options = ScanOptions.plain
        options.workers = workers
        for case .changed(let entry) in try await tree.findings(index, options: options) where entry.name == name {
            if case .file(let contents) = entry.contents { return contents }
        }
        throw CocoaError(.fileNoSuchFile)
    }

    /// The blocks by definition.
    private func blocks(of bytes: [UInt8], size: Int) -> [BlockInfo] {
        guard !bytes.isEmpty else { return [BlockInfo(offset: 0, size: 0, hash: SHA256.digest([]))] }
        return stride(from: 0, to: bytes.count, by: size).map { offset in
            let block = bytes[offset..<min(offset + size, bytes.count)]
            return BlockInfo(offset: Int64(offset), size: Int32(block.count), hash: SHA256.digest(Array(block)))
        }
    }

    @Test(arguments: [0, 1, 131_071, 131_072, 131_073, 262_144, 1_000_000, 8 << 20, (8 << 20) + 1, 20_000_001])
    func blocksAreThoseOfTheBytes(size: Int) async throws {
        var generator = SeededGenerator(seed: UInt64(size))
        var bytes = [UInt8](repeating: 0, count: size)
        for index in stride(from: 0, to: size, by: 97) { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
        try tree.write(bytes, to: "f")
        let expected = blocks(of: bytes, size: 128 << 10)
        for workers in [ScanOptions.Workers.callingTask, .threads(1), .threads(3)] {
            let contents = try await contents("f", workers: workers)
            #expect(contents.blocks == expected)
            #expect(contents.size == Int64(size))
            #expect(contents.blockSize == 128 << 10)
            #expect(contents.blocksHash == FileInfo.blocksHash(of: expected))
        }
    }

    @Test func aLargeFileHasLargerBlocks() async throws {
        try tree.write("begin", to: "f")
        // A hole, which reads as zeros.
        try #require(truncate(tree.path("f"), 250 << 20) == 0)
        let contents = try await contents("f", workers: .threads(2))
        #expect(contents.blockSize == 256 << 10)
        #expect(contents.blocks.count == 1000)
        #expect(contents.blocks.map(\.offset) == (0..<1000).map { Int64($0) * (256 << 10) })
        let zeros = SHA256.digest([UInt8](repeating: 0, count: 256 << 10))
        #expect(contents.blocks[1...].allSatisfy { $0.hash == zeros && $0.size == 256 << 10 })
        #expect(contents.blocks[0].hash != zeros)
    }

    @Test func aFileThatGrowsALittleKeepsItsBlocks() async throws {
        try tree.write("begin", to: "f")
        let index = try await tree.scanned()
        try #require(truncate(tree.path("f"), 250 << 20) == 0)
        #expect(try await contents("f", index).blockSize == 128 << 10)
    }

    @Test(
        arguments: [
            (0, 128), (1, 128), (250 << 20 - 1, 128), (250 << 20, 256), (500 << 20 - 1, 256), (500 << 20, 512),
            (1000 << 20, 1024), (2000 << 20, 2048), (4000 << 20, 4096), (8000 << 20, 8192), (16_000 << 20, 16_384),
            (1 << 50, 16_384),
        ] as [(Int64, Int)])
    func blockSizeByFileSize(fileSize: Int64, kibibytes: Int) {
        let size = kibibytes << 10
        #expect(BlockSize.forFile(ofSize: fileSize, keeping: 0) == size)
        #expect(BlockSize.forFile(ofSize: fileSize, keeping: size) == size)
        for previous in [size * 2, size / 2] {
            let isValid = BlockSize.isValid(previous)
            #expect(BlockSize.forFile(ofSize: fileSize, keeping: previous) == (isValid ? previous : size))
        }
        for previous in [size * 4, size / 4, size + 1, -size, 1] {
            #expect(BlockSize.forFile(ofSize: fileSize, keeping: previous) == size)
        }
    }

    @Test func aFileOfTooManyBlocksIsAProblem() async throws {
        try tree.write("begin", to: "f")
        let limit = Int64(FileReading.blockCountLimit) * Int64(BlockSize.maximum)
        // Not every file system has files so large.
        guard truncate(tree.path("f"), off_t(limit) + 1) == 0 else { return }
        #expect(try await tree.findings(ModelIndex()).map(\.summary) == ["too-large f"])
    }
}
