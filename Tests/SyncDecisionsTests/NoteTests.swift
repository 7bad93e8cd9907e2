import BlockExchange
import ControlAPI
import SyncTestKit
import Testing

@testable import SyncDecisions

@Suite struct NoteTests {
    static func file(_ lines: NoteFile.Line...) -> NoteFile {
        var file = NoteFile()
        for line in lines {
            let hasRoom = file.set(line)
            #expect(hasRoom)
        }
        return file
    }

    static func line(_ key: String, _ value: String?, _ time: Int64, path: String = "a/b.txt") -> NoteFile.Line {
        NoteFile.Line(path: path, key: key, value: value, time: time)
    }

    @Test func aFileIsReadAsItIsWritten() throws {
        let file = Self.file(
            Self.line("title", "Ä \"quoted\" / slash", 5), Self.line("note", nil, 6), Self.line("x", "", 7, path: ""))
        let bytes = try file.bytes()
        #expect(NoteFile(bytes) == file)
        #expect(bytes.split(separator: UInt8(ascii: "\n")).count == 3)
        #expect(NoteFile([]).lines.isEmpty)
    }

    /// What somebody else's program, or a hand, wrote: good lines count, others do not.
    @Test func linesThatAreNoneAreLeftOut() throws {
        let good = String(decoding: try Self.file(Self.line("k", "v", 1)).bytes(), as: UTF8.self)
        let long = String(repeating: "x", count: NoteFile.valueByteLimit + 1)
        let text = """
            nonsense
            \(good){"path":"a","key":"","value":"v","time":1}
            {"path":"a","key":"k k","value":"v","time":1}
            {"path":"a","key":"k","value":"\(long)","time":1}
            {"path":"a","key":"k","value":"a\\u0007","time":1}
            {"path":"a","key":"k","value":"v","time":"soon"}
            {"path":"a","key":"k"}
            [1,2]
            """
        #expect(NoteFile(Array(text.utf8)) == Self.file(Self.line("k", "v", 1)))
    }

    @Test func theLastCountsWhicheverIsReadFirst() {
        let files = [
            (
                device: "A",
                file: Self.file(Self.line("k", "old", 1), Self.line("gone", "x", 1), Self.line("tie", "a", 9))
            ),
            (
                device: "B",
                file: Self.file(Self.line("k", "new", 2), Self.line("gone", nil, 3), Self.line("tie", "b", 9))
            ),
            (device: "C", file: Self.file(Self.line("own", "c", 1))),
        ]
        for order in [files, files.reversed(), [files[1], files[2], files[0]]] {
            let merged = MergedNotes(order, now: 9)
            #expect(merged == MergedNotes(files, now: 9))
            #expect(merged.notes(of: "a/b.txt").mapValues(\.value) == ["k": "new", "tie": "b", "own": "c"])
            #expect(merged.notes(of: "other").isEmpty)
        }
    }

    /// To a disk, two paths that look alike are two files.
    @Test func pathsAreComparedByBytes() throws {
        let (composed, other) = ("\u{e9}.jpg", "e\u{301}.jpg")
        let file = Self.file(Self.line("k", "one", 1, path: composed), Self.line("k", "two", 2, path: other))
        #expect(file.lines.count == 2)
        #expect(NoteFile(try file.bytes()).lines.map(\.value) == file.lines.map(\.value))
        let merged = MergedNotes([(device: "A", file: file)], now: 9)
        #expect(merged.notes(of: composed).mapValues(\.value) == ["k": "one"])
        #expect(merged.notes(of: other).mapValues(\.value) == ["k": "two"])
    }

    /// A clock that is ahead elsewhere does not keep a later change from counting.
    @Test func aChangeIsLaterThanWhatItReplaces() {
        let merged = MergedNotes([(device: "A", file: Self.file(Self.line("k", "v", 5000)))], now: 0)
        #expect(merged.time(ofChange: "a/b.txt", "k", now: 100) == 5001)
        #expect(merged.time(ofChange: "a/b.txt", "k", now: 9000) == 9000)
        #expect(merged.time(ofChange: "a/b.txt", "new", now: 100) == 100)
        let end = MergedNotes([(device: "A", file: Self.file(Self.line("k", "v", .max)))], now: 0)
        #expect(end.time(ofChange: "a/b.txt", "k", now: 1) == .max)
    }

    private static let now: Int64 = 1_800_000_000_000

    /// A line that no change could be later than counts once its time has come.
    @Test(
        arguments: [
            (0, true), (now, true), (now + 86_400_000, true), (now + 86_400_002, false), (.max - 1, false),
            (.max, false),
        ] as [(Int64, Bool)])
    func aLineFromTheFutureWaits(time: Int64, counts: Bool) {
        let files = [
            (device: "A", file: Self.file(Self.line("k", "theirs", time))),
            (device: "B", file: Self.file(Self.line("k", "mine", 1))),
        ]
        let merged = MergedNotes(files, now: Self.now)
        #expect(merged.notes(of: "a/b.txt")["k"]?.value == (counts && time > 0 ? "theirs" : "mine"))
        // Whatever others said, a change that is made now counts.
        let next = merged.time(ofChange: "a/b.txt", "k", now: Self.now)
        let changed = MergedNotes(
            files + [(device: "C", file: Self.file(Self.line("k", "changed", next)))], now: Self.now + 1)
        #expect(changed.notes(of: "a/b.txt")["k"]?.value == "changed")
    }

    @Test(
        arguments: [
            ("AAAAAAA", "AAAAAAA", false), ("AAAAAAA", "BBBBBBB", true), ("AAAAAAA", nil, true),
            ("OWNOWNO", nil, false),
            ("OWNOWNO", "BBBBBBB", false),
        ] as [(String, String?, Bool)])
    func aFileIsItsDevicesOwn(device: String, changer: String?, isForeign: Bool) {
        let ids = ["AAAAAAA", "BBBBBBB"]
        func id(_ name: String) -> ShortID { ShortID(rawValue: UInt64((ids.firstIndex(of: name) ?? 9) + 1) << 40) }
        let file = ids.contains(device) ? id(device).description : device
        #expect(NoteFile.isForeign(to: file, changedBy: changer.map(id), own: "OWNOWNO") == isForeign)
    }

    @Test(arguments: 0..<10) func noBytesTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let good = try Self.file(Self.line("k", "v", 1), Self.line("l", "w", 2, path: "p")).bytes()
        for _ in 0..<100 {
            var bytes = good
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            #expect(NoteFile(bytes).lines.count <= 6)
        }
    }
}
