import Testing

@testable import Selection

@Suite struct PatternTallyTests {
    private static let paths = [
        "a.tmp", "docs/b.tmp", "docs/c.txt", "docs/keep.tmp", "films/one.mkv", "films/two.mkv", "notes.md",
    ]

    /// The lines now, the lines to try; for each of these the files that it decides about; what is ignored from now on, and kept.
    static let cases: [(String, String, [[String]], [String], [String])] = [
        ("", "*.tmp", [["a.tmp", "docs/b.tmp", "docs/keep.tmp"]], ["a.tmp", "docs/b.tmp", "docs/keep.tmp"], []),
        // The first line that matches decides.
        (
            "*.tmp", "!keep.tmp\n*.tmp\nnothing", [["docs/keep.tmp"], ["a.tmp", "docs/b.tmp"], []], [],
            ["docs/keep.tmp"]
        ),
        (
            "/films\n*", "!/films\n*",
            [["films/one.mkv", "films/two.mkv"], ["a.tmp", "docs/b.tmp", "docs/c.txt", "docs/keep.tmp", "notes.md"]],
            [],
            ["films/one.mkv", "films/two.mkv"]
        ),
        ("*.mkv", "// none", [], [], ["films/one.mkv", "films/two.mkv"]),
        ("*.md", "*.md", [["notes.md"]], [], []),
    ]

    @Test(arguments: cases)
    func countsWhatEachLineDecides(
        _ now: String, _ text: String, _ lines: [[String]], _ ignored: [String], _ kept: [String]
    ) throws {
        var tally = PatternTally(try Selection(parsing: text), instead: try Selection(parsing: now))
        for path in Self.paths { tally.add(path, byteCount: 10) }
        #expect(tally.lines.map(\.names) == lines)
        #expect(tally.lines.map(\.byteCount) == lines.map { Int64($0.count * 10) })
        #expect(tally.newlyIgnored.names == ignored && tally.newlyKept.names == kept)
        #expect(tally.all.files == Self.paths.count && tally.all.names.isEmpty)
        #expect(tally.ignored.files == Self.paths.count { tally.selection.isIgnored($0) })
    }

    @Test func keepsFewNamesAndNoSumOverflows() throws {
        var tally = PatternTally(try Selection(parsing: "*"), instead: .everything, nameLimit: 2)
        for number in 0..<9 { tally.add("f\(number)", byteCount: .max) }
        #expect(tally.lines[0].files == 9 && tally.lines[0].names == ["f0", "f1"])
        #expect(tally.newlyIgnored.byteCount == .max)
    }
}
