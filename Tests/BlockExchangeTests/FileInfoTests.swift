import BlockExchange
import Cryptography
import SyncTestKit
import Testing

struct FileInfoTests {
    /// An entry for the table: its version, and what else decides.
    static func entry(
        _ version: [UInt64: UInt64], at seconds: Int64 = 100, nanoseconds: Int32 = 0, deleted: Bool = false,
        invalid: Bool = false
    ) -> FileInfo {
        FileInfo(
            name: "a", modifiedSeconds: seconds, modifiedNanoseconds: nanoseconds, isDeleted: deleted,
            isInvalid: invalid, version: VersionVectorTests.vector(version))
    }

    /// Each pair: the winner and the loser.
    static let decided: [(why: String, winner: FileInfo, loser: FileInfo)] = [
        ("a later version", entry([1: 2]), entry([1: 1])),
        ("a later version, though its clock is behind", entry([1: 2], at: 1), entry([1: 1], at: 900)),
        ("a later deletion", entry([1: 2], deleted: true), entry([1: 1])),
        ("a later file over a deletion", entry([1: 2]), entry([1: 1], deleted: true)),
        ("valid over a later invalid", entry([1: 1]), entry([1: 9], invalid: true)),
        ("valid over the same but invalid", entry([1: 1]), entry([1: 1], invalid: true)),
        ("valid over concurrent invalid", entry([2: 1]), entry([1: 9], at: 900, invalid: true)),
        ("a valid deletion over an invalid file", entry([1: 1], deleted: true), entry([1: 2], invalid: true)),
        ("of two invalid the later", entry([1: 2], invalid: true), entry([1: 1], invalid: true)),
        ("concurrent: what is not deleted", entry([2: 1], at: 1), entry([1: 1], at: 900, deleted: true)),
        ("concurrent: newer by seconds", entry([2: 1], at: 101), entry([1: 1], at: 100, nanoseconds: 999_999_999)),
        ("concurrent: newer by a nanosecond", entry([2: 1], nanoseconds: 2), entry([1: 1], nanoseconds: 1)),
        ("concurrent, before 1970", entry([2: 1], at: -1), entry([1: 1], at: -2, nanoseconds: 5)),
        ("concurrent, same time: greater at the first id", entry([1: 2, 2: 1]), entry([1: 1, 2: 2])),
        (
            "concurrent, both deleted: newer", entry([2: 1], at: 101, deleted: true),
            entry([1: 1], at: 100, deleted: true)
        ),
        ("anything over an empty vector", entry([1: 1], at: 1), entry([:], at: 900)),
    ]

    @Test(arguments: decided)
    func `one entry wins and the other loses`(why: String, winner: FileInfo, loser: FileInfo) {
        #expect(winner.wins(over: loser), "\(why)")
        #expect(!loser.wins(over: winner), "\(why)")
    }

    @Test func `the same version wins over nobody`() {
        let (older, newer) = (Self.entry([1: 1], at: 1), Self.entry([1: 1], at: 2))
        #expect(!older.wins(over: newer))
        #expect(!newer.wins(over: older))
    }

    @Test func `of any two entries of different versions exactly one wins`() {
        var random = SeededGenerator(seed: 51)
        for _ in 0..<5000 {
            var pair = (0..<2).map { _ in
                FileInfo(
                    name: "a", modifiedSeconds: Int64(random.int(0...1)),
                    modifiedNanoseconds: Int32(random.int(0...1)), isDeleted: random.isOne(in: 3),
                    isInvalid: random.isOne(in: 3), version: random.version())
            }
            let (left, right) = (pair.removeFirst(), pair.removeFirst())
            let isDecided = left.isInvalid != right.isInvalid || left.version != right.version
            let wins = [left.wins(over: right), right.wins(over: left)].filter { $0 }.count
            #expect(wins == (isDecided ? 1 : 0), "\(left.version) \(right.version)")
        }
    }

    static func mebibytes(_ count: Int64) -> Int64 { count << 20 }

    static let blockSizes: [(fileSize: Int64, blockSize: Int)] = [
        (0, 128 << 10), (1, 128 << 10), (mebibytes(250) - 1, 128 << 10), (mebibytes(250), 256 << 10),
        (mebibytes(300), 256 << 10), (mebibytes(500) - 1, 256 << 10), (mebibytes(500), 512 << 10),
        (mebibytes(1000) - 1, 512 << 10), (mebibytes(1000), 1 << 20), (mebibytes(2000) - 1, 1 << 20),
        (mebibytes(2000), 2 << 20), (mebibytes(4000) - 1, 2 << 20), (mebibytes(4000), 4 << 20),
        (mebibytes(8000) - 1, 4 << 20), (mebibytes(8000), 8 << 20), (mebibytes(16000) - 1, 8 << 20),
        (mebibytes(16000), 16 << 20), (.max, 16 << 20), (-1, 128 << 10),
    ]

    @Test(arguments: blockSizes)
    func `block sizes keep a file below 2,000 blocks`(fileSize: Int64, blockSize: Int) {
        #expect(BlockSize.forFile(ofSize: fileSize) == blockSize)
    }

    @Test func `valid block sizes are the eight powers of two`() {
        var valid: Set<Int> = []
        for shift in 0...40 {
            let power = 1 << shift
            for size in [power - 1, power, power + 1, -power, 0, Int.min, Int.max] where BlockSize.isValid(size) {
                valid.insert(size)
            }
        }
        #expect(valid.sorted() == (17...24).map { shift in 1 << shift })
    }

    @Test func `the blocks hash is the hash of the blocks' hashes`() {
        var random = SeededGenerator(seed: 61)
        for count in 1...5 {
            let blocks = (0..<count).map { _ in BlockInfo(offset: 0, size: 1, hash: random.digest()) }
            #expect(FileInfo.blocksHash(of: blocks) == SHA256.digest(blocks.flatMap { $0.hash.bytes }))
        }
        #expect(FileInfo.blocksHash(of: []) == nil)
    }

    /// Blocks of 4 bytes that begin at these places, whatever block size is claimed.
    @Test(
        arguments: [
            ([0, 4, 8], 0...0, [0]), ([0, 4, 8], 0...3, [0]), ([0, 4, 8], 3...4, [0, 1]), ([0, 4, 8], 8...11, [2]),
            ([0, 4, 8], 12...20, []), ([0, 4, 8], 0...(.max), [0, 1, 2]), ([], 0...(.max), []),
            ([-4, .min, 4], 0...9, [2]),
            ([.max, .max - 2], .max - 1...(.max), [0, 1]), ([.max], 0...5, []),
        ] as [([Int64], ClosedRange<Int64>, [Int])])
    func `blocks are found by their bytes`(offsets: [Int64], range: ClosedRange<Int64>, found: [Int]) {
        var random = SeededGenerator(seed: 62)
        let blocks = offsets.map { BlockInfo(offset: $0, size: 4, hash: random.digest()) }
        for blockSize in [0, -1, .min, .max, 131_072] as [Int32] {
            #expect(FileInfo(name: "a", blockSize: blockSize, blocks: blocks).blocks(holding: range) == found)
        }
    }
}
