import BlockExchange
import Names
import Testing

@testable import Reconciliation

/// Where what is gone is now, as a table: what was lost, what lies in the folder, and what follows.
@Suite struct RelocationTests {
    /// A file; its number stands for its contents, size and times unless something else is said.
    private static func file(
        _ path: String, _ inode: UInt64, size: Int64? = nil, seen: Int64? = 100, made: Int64? = 50
    ) -> PlacedItem {
        PlacedItem(
            path: path, kind: .file, inode: inode, size: size ?? Int64(inode) * 10,
            modified: DiskTime(seconds: Int64(inode), nanoseconds: 0),
            changed: seen.map { DiskTime(seconds: $0, nanoseconds: 0) },
            created: made.map { DiskTime(seconds: $0, nanoseconds: 0) })
    }

    private static func directory(_ path: String, _ inode: UInt64, made: Int64? = 50) -> PlacedItem {
        PlacedItem(
            path: path, kind: .directory, inode: inode, size: 0, modified: DiskTime(seconds: 1, nanoseconds: 0),
            changed: DiskTime(seconds: 100, nanoseconds: 0),
            created: made.map { DiskTime(seconds: $0, nanoseconds: 0) })
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var lost: [PlacedItem]
        var lines: Set<NameKey>
        var sightings: [Sighting] = []
        var reported: [Relocation.Move] = []
        var copies: [NameKey: [String]] = [:]
        var follows: [String] = []
        var joined: [String] = []
        var held: [String] = []
        var unfound: [String] = []

        init(_ words: String, _ lost: [PlacedItem], _ lines: Set<NameKey>, _ sightings: [Sighting] = []) {
            (testDescription, self.lost, self.lines, self.sightings) = (words, lost, lines, sightings)
        }

        func with(_ change: (inout Case) -> Void) -> Case {
            var copy = self
            change(&copy)
            return copy
        }
    }

    static let cases: [Case] = [
        Case("renamed", [file("a", 1)], ["a"], [Sighting(file("b", 1))]).with { $0.follows = ["a > b"] },
        Case(
            "two whose names differ in normalization alone", [file("\u{E9}", 1), file("e\u{301}", 2)],
            ["\u{E9}", "e\u{301}"], [Sighting(file("a", 1)), Sighting(file("b", 2))]
        ).with { $0.follows = ["e\u{301} > b", "\u{E9} > a"] },
        Case("deleted", [file("a", 1)], ["a"]).with { $0.unfound = ["a"] },
        Case("an empty one deleted", [file("a", 1, size: 0)], ["a"]),
        Case("into a directory", [file("a", 1)], ["a"], [Sighting(file("d/e/a", 1))]).with {
            $0.follows = ["a > d/e/a"]
        },
        Case("other case", [file("a.txt", 1)], ["a.txt"], [Sighting(file("A.TXT", 1))]).with {
            $0.follows = ["a.txt > A.TXT"]
        },
        Case("renamed and written to", [file("a", 1)], ["a"], [Sighting(file("b", 1, size: 77))]).with {
            $0.follows = ["a > b"]
        },
        Case("its number is another's now", [file("a", 1)], ["a"], [Sighting(file("b", 1, made: 101))]).with {
            $0.unfound = ["a"]
        },
        Case("the disk keeps no time of making", [file("a", 1)], ["a"], [Sighting(file("b", 1, made: nil))]).with {
            $0.follows = ["a > b"]
        },
        Case(
            "nor does it say whether it was written to", [file("a", 1)], ["a"],
            [Sighting(file("b", 1, size: 77, made: nil))]
        ).with { $0.unfound = ["a"] },
        Case(
            "but somebody saw it being renamed", [file("a", 1)], ["a"],
            [Sighting(file("b", 1, size: 77, made: nil))]
        ).with {
            $0.reported = [Relocation.Move(from: "a", to: "b")]
            $0.follows = ["a > b"]
        },
        Case("seen twice, at the second name", [file("a", 1)], ["a"], [Sighting(file("c", 9, size: 10))]).with {
            // The disk makes numbers up.
            $0.sightings[0].item.modified = DiskTime(seconds: 1, nanoseconds: 0)
            $0.reported = [Relocation.Move(from: "a", to: "b"), Relocation.Move(from: "b", to: "c")]
            $0.follows = ["a > c"]
        },
        Case("below a directory that was seen", [file("d/a", 1)], ["d/a"], [Sighting(file("e/a", 1, made: nil))])
            .with {
                $0.reported = [Relocation.Move(from: "d", to: "e")]
                $0.follows = ["d/a > e/a"]
            },
        Case("another file stands there by now", [file("a", 1)], ["a"], [Sighting(file("b", 7))]).with {
            $0.reported = [Relocation.Move(from: "a", to: "b")]
            $0.unfound = ["a"]
        },
        Case("a second name of it stays", [file("a", 1)], ["a"], [Sighting(file("z", 1)), Sighting(file("b", 1))]).with
        {
            $0.follows = ["a > b"]
        },
        Case(
            "a second name of it is kept", [file("a", 1)], ["a"],
            [Sighting(file("b", 1)), Sighting(file("z", 1), isKept: true)]
        ).with { $0.joined = ["a > z"] },
        Case("onto one that is kept", [file("a", 1)], ["a", "b"], [Sighting(file("b", 1), isKept: true)]).with {
            $0.joined = ["a > b"]
        },
        Case("into what is selected", [file("s/a", 1)], ["s"], [Sighting(file("s/b", 1), isKept: true)]),
        Case("out of what is selected", [file("s/a", 1)], ["s"], [Sighting(file("b", 1))]).with {
            $0.held = ["s/a > b"]
        },
        Case(
            "where others have something else", [file("a", 1)], ["a"], [Sighting(file("b", 1), obstacle: "taken")]
        ).with { $0.held = ["a > b: taken"] },
        Case("a kind that it was not", [file("a", 1)], ["a"], [Sighting(directory("b", 1))]).with {
            $0.unfound = ["a"]
        },
        Case(
            "two at once", [file("a", 1), file("b", 2)], ["a", "b"], [Sighting(file("c", 2)), Sighting(file("d", 1))]
        ).with { $0.follows = ["a > d", "b > c"] },
        // Contents, where the number says nothing.
        Case("copied and deleted", [file("a", 1)], ["a"], [Sighting(file("b", 9, size: 10))]).with {
            $0.copies = ["a": ["b"]]
            $0.follows = ["a > b"]
        },
        Case(
            "copied twice, once under its name", [file("a", 1)], ["a"],
            [Sighting(file("b", 8, size: 10)), Sighting(file("d/a", 9, size: 10))]
        ).with {
            $0.copies = ["a": ["b", "d/a"]]
            $0.follows = ["a > d/a"]
        },
        Case(
            "copied twice", [file("a", 1)], ["a"],
            [Sighting(file("b", 8, size: 10)), Sighting(file("c", 9, size: 10))]
        ).with {
            $0.copies = ["a": ["b", "c"]]
            $0.held = ["a > b: 2 files in the folder have the same contents"]
        },
        // Directories.
        Case(
            "a directory", [directory("d", 1), file("d/a", 2), file("d/b", 3)], ["d"],
            [Sighting(directory("e", 1)), Sighting(file("e/a", 2)), Sighting(file("e/b", 3))]
        ).with { $0.follows = ["d > e"] },
        Case(
            "a directory with a line in it", [directory("d", 1), file("d/a", 2)], ["d", "d/a"],
            [Sighting(directory("e", 1)), Sighting(file("e/a", 2))]
        ).with { $0.follows = ["d > e"] },
        Case(
            "one whose number says nothing", [directory("d", 1), file("d/a", 2), file("d/b", 3), file("d/c", 4)], ["d"],
            [Sighting(directory("e", 1, made: nil)), Sighting(file("e/a", 2)), Sighting(file("e/b", 3))]
        ).with { $0.follows = ["d > e"] },
        Case(
            "one whose new name ends in a character that joins the slash behind it",
            [directory("d", 1), file("d/a", 2), file("d/b", 3)], ["d"],
            [Sighting(directory("\u{0D4E}", 9)), Sighting(file("\u{0D4E}/a", 2)), Sighting(file("\u{0D4E}/b", 3))]
        ).with { $0.follows = ["d > \u{0D4E}"] },
        Case(
            "of which there is only a part", [directory("d", 1), file("d/a", 2), file("d/b", 3)], ["d"],
            [Sighting(directory("e", 9)), Sighting(file("e/a", 2))]
        ).with {
            $0.held = ["d/a > e/a"]
            $0.unfound = ["d/b"]
        },
        Case(
            "a copied one", [directory("d", 1), file("d/a", 2), file("d/b", 3)], ["d"],
            [Sighting(directory("e", 9)), Sighting(file("e/a", 8, size: 20)), Sighting(file("e/b", 7, size: 30))]
        ).with {
            $0.copies = ["d/a": ["e/a"], "d/b": ["e/b"]]
            $0.follows = ["d > e"]
        },
        Case(
            "what was in one that is no more", [directory("d", 1), file("d/a", 2), file("d/b", 3)], ["d"],
            [Sighting(file("x", 2)), Sighting(file("y", 3))]
        ).with { $0.held = ["d/a > x", "d/b > y"] },
        Case(
            "a directory above two lines", [directory("d", 1), file("d/a", 2), file("d/b", 3)], ["d/a", "d/b"],
            [Sighting(directory("e", 1)), Sighting(file("e/a", 2)), Sighting(file("e/b", 3))]
        ).with {
            $0.follows = ["d/a > e/a", "d/b > e/b"]
        },
        Case(
            "a directory taken out of what is selected", [directory("s/d", 1), file("s/d/a", 2)], ["s"],
            [Sighting(directory("e", 1)), Sighting(file("e/a", 2))]
        ).with { $0.held = ["s/d > e", "s/d/a > e/a"] },
    ]

    @Test(arguments: cases) func finds(_ row: Case) {
        let relocation = Relocation(
            lost: row.lost.reversed(), lines: row.lines, sightings: row.sightings, reported: row.reported,
            copies: row.copies)
        #expect(relocation.follows.map { "\($0.from) > \($0.to)" } == row.follows)
        #expect(relocation.joined.map { "\($0.from) > \($0.to)" } == row.joined)
        #expect(
            relocation.held.map { "\($0.from) > \($0.to)" + ($0.obstacle.map { ": \($0)" } ?? "") } == row.held)
        #expect(relocation.unfound.map(\.path) == row.unfound)
    }

    // MARK: the line that is left behind

    private static let mine = ShortID(rawValue: 1)

    private static func info(_ counter: UInt64, isDeleted: Bool = false) -> FileInfo {
        var file = FileInfo(name: "a", kind: .file)
        file.isDeleted = isDeleted
        file.version = VersionVector([VersionVector.Counter(id: mine, value: counter)])
        return file
    }

    private static let directoryInfo: FileInfo = {
        var file = info(3)
        file.kind = .directory
        return file
    }()

    @Test(
        arguments: [
            // Nothing was told yet.
            (info(1), info(1), false, true, MovedLine.waits),
            // Told, and nobody has heard.
            (info(2, isDeleted: true), info(2, isDeleted: true), false, false, .waits),
            (info(2, isDeleted: true), info(2, isDeleted: true), false, true, .ends),
            (info(2, isDeleted: true), nil, false, true, .ends),
            // Renamed elsewhere, and not yet here.
            (info(2, isDeleted: true), info(1), true, true, .waits),
            // Nobody has it any more.
            (nil, nil, false, true, .ends), (nil, nil, true, true, .waits),
            // Somebody's change was stronger, or a new file is there.
            (info(3), info(2, isDeleted: true), false, true, .stays), (info(3), info(3), true, true, .stays),
            // A directory in which others have something that is not kept here.
            (directoryInfo, nil, false, true, .ends), (directoryInfo, nil, true, true, .stays),
        ] as [(FileInfo?, FileInfo?, Bool, Bool, MovedLine)])
    func endsWhenOthersKnow(
        global: FileInfo?, local: FileInfo?, isOnDisk: Bool, othersKnow: Bool, expected: MovedLine
    ) {
        let version = local.map { LocalVersion(file: $0, isOnDisk: !$0.isDeleted) }
        #expect(
            MovedLine.decide(global: global, local: version, isOnDisk: isOnDisk, othersKnow: othersKnow) == expected)
    }
}
