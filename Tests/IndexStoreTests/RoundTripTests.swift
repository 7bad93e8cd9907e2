import BlockExchange
import Cryptography
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct RoundTripTests {
    /// What is announced comes out as it went in, whatever the fields hold.
    @Test(arguments: 0..<20) func announcementsSurvive(seed: UInt64) async throws {
        let index = try await TestIndex()
        var random = SeededGenerator(seed: seed)
        let files = (0..<60).map { Self.file(number: $0, using: &random) }
        try await index.announce(files, by: alice)
        for file in files {
            let stored = try await index.store.file(music, file.name, announcedBy: alice)
            #expect(stored == file.withBlocksHash)
        }
        // Announced again in another shape, every name still gives its last.
        let changed = files.map { file in
            var other = Self.file(number: 0, using: &random)
            other.name = file.name
            return other
        }
        try await index.announce(changed, by: alice)
        for file in changed {
            let stored = try await index.store.file(music, file.name, announcedBy: alice)
            #expect(stored == file.withBlocksHash)
        }
        try await index.store.dropDevice(alice)
        let lists = try await index.store.read {
            try RawStatement($0, "SELECT count(*) FROM blockList").first { $0.integer(0) }
        }
        let data = try await index.store.read {
            try RawStatement($0, "SELECT count(*) FROM blockListData").first { $0.integer(0) }
        }
        #expect(lists == 0 && data == 0)
    }

    @Test func contentIsStoredOnce() async throws {
        let index = try await TestIndex()
        let blocks = (0..<3).map { BlockInfo(offset: Int64($0) << 17, size: 1 << 17, hash: hash(UInt64($0))) }
        let copies = (0..<50).map {
            FileInfo(
                name: "copy \($0)", size: 3 << 17, version: version((alice, 1)), blockSize: 1 << 17, blocks: blocks)
        }
        try await index.announce(copies, by: alice)
        try await index.announce(copies, by: bob)
        func lists() async throws -> Int64? {
            try await index.store.read {
                try RawStatement($0, "SELECT count(*) FROM blockList").first { $0.integer(0) }
            }
        }
        #expect(try await lists() == 1)
        try await index.announce(copies.map { deleted($0.name, version((alice, 2))) }, by: alice)
        #expect(try await lists() == 1)
        #expect(try await index.store.file(music, "copy 7", announcedBy: bob)?.blocks == blocks)
        try await index.store.dropDevice(bob)
        #expect(try await lists() == 0)
    }

    /// A file with any values its fields can take, most often common ones.
    static func file(number: Int, using random: inout SeededGenerator) -> FileInfo {
        var file = FileInfo(name: "\(number % 7)/\(number)")
        file.kind =
            [.file, .directory, .symlinkToFile, .symlinkToDirectory, .symlink][Int.random(in: 0..<5, using: &random)]
        file.permissions = [0, 0o644, 0o777, .max].randomElement(using: &random) ?? 0
        file.modifiedSeconds = [0, 1_700_000_000, -5, .max, .min].randomElement(using: &random) ?? 0
        file.modifiedNanoseconds = [0, 999_999_999, -1, .max, .min].randomElement(using: &random) ?? 0
        file.isDeleted = Bool.random(using: &random)
        file.isInvalid = Bool.random(using: &random)
        file.hasNoPermissions = Bool.random(using: &random)
        file.version = VersionVector(
            (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                .init(
                    id: ShortID(rawValue: random.next()),
                    value: [0, 1, 127, 128, 1_700_000_000, .max].randomElement(using: &random) ?? 0)
            })
        file.sequence = [0, 1, .max].randomElement(using: &random) ?? 0
        file.modifiedBy = ShortID(rawValue: random.next())
        file.blockSize =
            [0, 131_072, 1 << 24, 1 << 20, 1, 7, 131_073, -1, .max, .min].randomElement(using: &random) ?? 0
        file.symlinkTarget = bytes(using: &random)
        file.carriedFields = bytes(using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: file.size = [0, 1, -1, .max, .min].randomElement(using: &random) ?? 0
        case 1: lay(out: [0], in: &file, using: &random)
        case 2: lay(out: [Int32.random(in: 1...100_000, using: &random)], in: &file, using: &random)
        case 3:
            file.blockSize = [0, 131_072].randomElement(using: &random) ?? 0
            lay(out: [131_072, 131_072, Int32.random(in: 1...131_072, using: &random)], in: &file, using: &random)
        default:
            let sizes = (0..<Int.random(in: 2..<6, using: &random)).map { _ in Int32.random(in: 0...9, using: &random) }
            lay(out: sizes, in: &file, using: &random)
        }
        return file
    }

    private static func lay(out sizes: [Int32], in file: inout FileInfo, using random: inout SeededGenerator) {
        let hasWeakHashes = Bool.random(using: &random)
        for size in sizes {
            file.blocks.append(
                BlockInfo(
                    offset: file.size, size: size, hash: hash(UInt64.random(in: 0..<4, using: &random)),
                    weakHash: hasWeakHashes ? UInt32.random(in: 0...3, using: &random) : 0))
            file.size += Int64(size)
        }
    }

    private static func bytes(using random: inout SeededGenerator) -> [UInt8] {
        (0..<([0, 0, 1, 200].randomElement(using: &random) ?? 0)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}
