import Cryptography
import SyncTestKit
import Testing

@testable import BlockExchange

/// What an index entry may say. A peer that breaks a rule loses its link.
struct EntryRulesTests {
    static let badNames: [String] = [
        "", "/", "//", "/x", "x/", "a//b", "a/b/", ".", "..", "./x", "x/.", "x/./y", "../x", "a/../b", "a/..",
        "../../etc/passwd", "a\0b", "\0", "a/\0", "a\0/../b", String(repeating: "x", count: 1025),
        "a/" + String(repeating: "x", count: 1025) + "/b", String(repeating: "x", count: 5000),
        String(repeating: "/", count: 3), String(repeating: "a/", count: 512) + "a",
        String(repeating: "a/", count: 100_000) + "a", String(repeating: "../", count: 50_000) + "x",
    ]

    @Test(arguments: badNames.indices)
    func `refuses names that are no canonical path`(row: Int) {
        let name = Self.badNames[row]
        #expect(throws: ProtocolError.self) { try Peer.entry(.file(name)) }
        let body = Proto().text(1, "f").message(2, .file(name))
        #expect(Peer.refusal(Frame.message(Frame.index, body)) == .invalidEntry)
        #expect(Peer.refusal(Frame.message(Frame.indexUpdate, body)) == .invalidEntry)
    }

    static let goodNames: [String] = [
        "x", "...", "..x", "x..", ".hidden", "a/.../b", "a/..b", " ", "a b", "a\\b", "C:", "-", "~", "\n", "\u{7F}",
        "日本語",
        "cafe\u{301}", "a/b/c/d", String(repeating: "x", count: 1024), String(repeating: "a/", count: 511) + "a",
    ]

    @Test(arguments: goodNames.indices)
    func `takes every other name as it is`(row: Int) throws {
        let name = Self.goodNames[row]
        let file = try #require(try Peer.entry(.file(name)))
        #expect(Array(file.name.utf8) == Array(name.utf8))
    }

    @Test(
        arguments: [[0xFF], [0xC0, 0xAF], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80]]
            as [[UInt8]])
    func `refuses names that are not UTF-8`(name: [UInt8]) {
        let entry = Proto().bytes(1, name).message(16, .block(offset: 0, size: 0))
        #expect(Peer.refusal(Frame.message(Frame.index, Proto().text(1, "f").message(2, entry))) == .invalidEntry)
    }

    typealias Row = (why: String, entry: Proto)

    static let minimum = Int64(BlockSize.minimum)

    static func large(_ size: Int64) -> Proto { Proto().text(1, "x").signed(3, size) }

    static let refused: [Row] = [
        ("no name", Proto().message(16, .block(offset: 0, size: 0))),
        ("deleted, with blocks", Proto.file("x").varint(6, 1)),
        ("deleted and invalid, with blocks", Proto.file("x").varint(6, 1).varint(7, 1)),
        ("directory with blocks", Proto.file("x").varint(2, 1)),
        ("symlink with blocks", Proto.file("x").varint(2, 4)),
        ("invalid directory with blocks", Proto.file("x").varint(2, 1).varint(7, 1)),
        ("directory with a size", Proto().text(1, "x").varint(2, 1).signed(3, 129)),
        ("symlink with a size", Proto().text(1, "x").varint(2, 4).signed(3, 128)),
        ("symlink to a zero byte", Proto().text(1, "x").varint(2, 4).bytes(17, [65, 0])),
        ("unknown type", Proto().text(1, "x").varint(2, 5)),
        ("negative type", Proto().text(1, "x").signed(2, -1)),
        ("file without blocks", Proto().text(1, "x")),
        ("file without blocks but a size", large(5)),
        ("negative size", large(-1).message(16, .block(offset: 0, size: 0))),
        ("smallest size", large(.min).message(16, .block(offset: 0, size: 0))),
        ("deleted with a negative size", large(-1).varint(6, 1)),
        ("nanoseconds beyond a second", Proto.file("x").varint(11, 1_000_000_000)),
        ("negative nanoseconds", Proto.file("x").signed(11, -1)),
        ("negative sequence", Proto.file("x").signed(10, -1)),
        ("deleted with a negative sequence", Proto().text(1, "x").varint(6, 1).signed(10, .min)),
        ("size beyond the blocks", large(6).message(16, .block(offset: 0, size: 5))),
        ("size below the blocks", large(4).message(16, .block(offset: 0, size: 5))),
        ("empty file with a full block", large(0).message(16, .block(offset: 0, size: 5))),
        ("first block not at zero", large(5).message(16, .block(offset: 1, size: 5))),
        ("negative offset", large(5).message(16, .block(offset: -1, size: 5))),
        ("negative block", large(5).message(16, .block(offset: 0, size: -5))),
        ("block beyond the block size", large(minimum + 1).message(16, .block(offset: 0, size: minimum + 1))),
        ("block beyond any block size", large(1 << 30).message(16, .block(offset: 0, size: 1 << 30))),
        (
            "gap",
            large(minimum + 5).message(16, .block(offset: 0, size: minimum))
                .message(16, .block(offset: minimum + 1, size: 5))
        ),
        (
            "overlap",
            large(minimum + 5).message(16, .block(offset: 0, size: minimum))
                .message(16, .block(offset: minimum - 1, size: 5))
        ),
        (
            "short block in the middle",
            large(10).message(16, .block(offset: 0, size: 5)).message(16, .block(offset: 5, size: 5))
        ),
        (
            "blocks out of order",
            large(minimum + 5).message(16, .block(offset: minimum, size: 5))
                .message(16, .block(offset: 0, size: minimum))
        ),
        (
            "empty block after a full one",
            large(minimum).message(16, .block(offset: 0, size: minimum))
                .message(16, .block(offset: minimum, size: 0))
        ),
        ("two empty blocks", large(0).message(16, .block(offset: 0, size: 0)).message(16, .block(offset: 0, size: 0))),
        ("block size that is no power of two", Proto.file("x").varint(13, 131_073)),
        ("block size that is too small", Proto.file("x").varint(13, 65_536)),
        ("block size that is too large", Proto.file("x").varint(13, 32 << 20)),
        ("negative block size", Proto.file("x").signed(13, -131_072)),
        ("smallest block size", Proto.file("x").signed(13, Int64(Int32.min))),
        ("block without a hash", Proto().text(1, "x").message(16, Proto())),
    ]

    @Test(arguments: refused)
    func `refuses entries that break BEP's rules`(row: Row) {
        let refusal = Peer.refusal(Frame.message(Frame.index, Proto().text(1, "f").message(2, row.entry)))
        #expect(refusal == .invalidEntry, "\(row.why)")
    }

    static let malformed: [Row] = [
        ("hash of 31 bytes", Proto().text(1, "x").message(16, Proto().bytes(3, [UInt8](repeating: 1, count: 31)))),
        ("hash of 33 bytes", Proto().text(1, "x").message(16, Proto().bytes(3, [UInt8](repeating: 1, count: 33)))),
        ("name as a number", Proto().varint(1, 5)),
        ("size as bytes", Proto.file("x").bytes(3, [1])),
        ("version as a number", Proto.file("x").varint(9, 1)),
        ("block as a number", Proto().text(1, "x").varint(16, 1)),
        ("field zero", Proto.file("x").varint(0, 1)),
        ("a group", Proto.file("x").key(30, wireType: 3)),
        ("wire type 7", Proto.file("x").key(30, wireType: 7)),
        ("a number of eleven bytes", Proto.file("x").raw([0x50] + [UInt8](repeating: 0x80, count: 10) + [1])),
        ("a number of 65 bits", Proto.file("x").raw([0x50] + [UInt8](repeating: 0xFF, count: 9) + [2])),
        ("a length that is longer than the entry", Proto.file("x").raw([0x8A, 0x01, 0x7F])),
        ("a length of 2^64-1", Proto.file("x").raw([0x8A, 0x01] + [UInt8](repeating: 0xFF, count: 9) + [1])),
        (
            "a length of 2^63 in a field that is carried",
            Proto.file("x").key(40, wireType: 2).raw(Proto.varint(1 << 63))
        ),
        ("a fixed64 that is cut", Proto.file("x").key(40, wireType: 1).raw([1, 2, 3])),
        ("a fixed32 that is cut", Proto.file("x").key(40, wireType: 5).raw([1, 2, 3])),
        ("a number that is cut", Proto.file("x").raw([0x50, 0x80])),
        ("a key that is cut", Proto.file("x").raw([0x80])),
        ("a counter that is cut", Proto.file("x").message(9, Proto().bytes(1, [0x08]))),
    ]

    @Test(arguments: malformed)
    func `refuses entries that are no protobuf`(row: Row) {
        let body = Proto().text(1, "f").message(2, row.entry)
        let refusal = Peer.refusal(Frame.message(Frame.index, body))
        // A target that is too long by its length alone is said to be so.
        #expect(refusal == .malformed || refusal == .tooLarge && row.why.hasPrefix("a length of 2^64"), "\(row.why)")
        // Refused in the same way where more of the index follows: what an entry lacks does not come with the next.
        let followed = Frame.message(Frame.index, body.message(2, .file("y")))
        #expect(Peer.refusal(followed) == refusal, "\(row.why)")
    }

    @Test func `refuses an entry as soon as it is there, not with the last of the message`() throws {
        let body = Proto().text(1, "f").message(2, .file("../x"))
        var peer = Peer()
        #expect(throws: ProtocolError.self) {
            try peer.feed(Frame.message(Frame.index, body, length: 400_000_000))
        }
    }

    static let taken: [(why: String, entry: Proto, check: @Sendable (FileInfo) -> Bool)] = [
        (
            "an empty file has one empty block", Proto().text(1, "x").message(16, .block(offset: 0, size: 0)),
            { $0.blocks.count == 1 && $0.size == 0 && $0.blocksHash != nil }
        ),
        ("no block size means 128 KiB", Proto.file("x"), { $0.blockSize == 0 && $0.effectiveBlockSize == 131_072 }),
        ("the largest block size", Proto.file("x").varint(13, 16 << 20), { $0.effectiveBlockSize == 16 << 20 }),
        (
            "a full last block",
            large(minimum * 2).message(16, .block(offset: 0, size: minimum))
                .message(16, .block(offset: minimum, size: minimum)),
            { $0.blocks.count == 2 && $0.size == minimum * 2 }
        ),
        (
            "a deleted entry has no size and no blocks",
            Proto().text(1, "x").varint(6, 1).signed(3, 77).varint(13, 131_072),
            { $0.isDeleted && $0.size == 0 && $0.blocks.isEmpty && $0.blockSize == 131_072 && $0.blocksHash == nil }
        ),
        (
            "a deleted directory", Proto().text(1, "x").varint(2, 1).varint(6, 1),
            { $0.isDeleted && $0.kind == .directory }
        ),
        (
            "an invalid file says nothing of its content", Proto.file("x").varint(7, 1),
            { $0.isInvalid && $0.blocks.isEmpty && $0.size == 0 && $0.blocksHash == nil }
        ),
        ("an invalid file without blocks", Proto().text(1, "x").varint(7, 1), { $0.isInvalid }),
        (
            "a block size that is none counts only with content",
            Proto().text(1, "x").varint(6, 1).signed(13, -5), { $0.blockSize == 0 && $0.effectiveBlockSize > 0 }
        ),
        ("a directory of 128 bytes", Proto().text(1, "x").varint(2, 1).signed(3, 128), { $0.size == 0 }),
        (
            "older symlinks", Proto().text(1, "x").varint(2, 2).bytes(17, [0xFF, 65]),
            { $0.symlinkTarget == [0xFF, 65] }
        ),
        ("a symlink to a directory", Proto().text(1, "x").varint(2, 3), { $0.kind.isSymlink }),
        (
            "the last nanosecond, the largest sequence, any time",
            Proto.file("x").varint(11, 999_999_999).signed(10, .max).signed(5, .min),
            { $0.modifiedNanoseconds == 999_999_999 && $0.sequence == .max && $0.modifiedSeconds == .min }
        ),
        (
            "another device's private notes are left out",
            Proto.file("x").varint(1000, 8).bytes(1001, [1]).varint(1002, 5).varint(1003, 6).bytes(18, [9]),
            { $0.carriedFields.isEmpty && $0.blocksHash == FileInfo.blocksHash(of: $0.blocks) }
        ),
        (
            "what is not known is carried through", Proto.file("x").bytes(14, [1, 2]).varint(40, 300).fixed32(41, 5),
            { $0.carriedFields == Proto().bytes(14, [1, 2]).varint(40, 300).fixed32(41, 5).bytes }
        ),
        (
            "counters in any order, twice, and zero",
            Proto.file("x").message(
                9,
                Proto().message(1, Proto().varint(1, 9).varint(2, 2)).message(1, Proto().varint(1, 3).varint(2, 5))
                    .message(1, Proto().varint(1, 9).varint(2, 1)).message(1, Proto().varint(1, 1))),
            { $0.version == VersionVectorTests.vector([3: 5, 9: 2]) }
        ),
        (
            "flags other than one", Proto().text(1, "x").varint(6, 1 << 40).varint(8, 2),
            { $0.isDeleted && $0.hasNoPermissions }
        ),
    ]

    @Test(arguments: taken)
    func `takes what BEP allows`(why: String, entry: Proto, check: @Sendable (FileInfo) -> Bool) throws {
        let file = try #require(try Peer.entry(entry))
        #expect(check(file), "\(why)")
    }

    @Test func `older kinds of symlink are sent on as the one that is left`() throws {
        let old = try #require(try Peer.entry(Proto().text(1, "x").varint(2, 3).text(17, "y")))
        var sender = ConnectionMachine(now: .zero)
        let bytes = sender.send(
            .index(folder: FolderID("f"), files: [old], isFullIndex: true, previousSequence: 0), at: .zero)
        guard case .index(let batch) = try Peer.outcome(Array(bytes.readableBytesView)).get().first else {
            Issue.record("no index")
            return
        }
        #expect(batch.files.map(\.kind) == [.symlink])
    }
}
