import Testing

@testable import Selection

/// Lines that follow what they name, and what becomes of the old ones.
@Suite struct SelectionFollowingTests {
    private func editor(_ text: String) throws -> SelectionEditor { SelectionEditor(try IgnoreFile(parsing: text)) }

    private static func mark(_ path: String) -> String { "// synctrain: moved /\(path)\n" }

    @Test(arguments: [
        // The old line stays until the others know, with a mark that says so.
        ("!/a\n*\n", "a", "b", "!/a\n\(mark("a"))!/b\n*\n", "!/b\n*\n"),
        ("*.tmp\n!/a\n!/z\n*\n", "a", "d/a", "*.tmp\n!/a\n!/z\n\(mark("a"))!/d/a\n*\n", "*.tmp\n!/z\n!/d/a\n*\n"),
        // Names that need care in a line.
        ("!/a\n*\n", "a", "b[1] ", "!/a\n\(mark("a"))!/b\\[1\\][ ]\n*\n", "!/b\\[1\\][ ]\n*\n"),
        // A directory takes along what is said of what is below it.
        (
            "/d/x\n!/d\n*\n", "d", "e", "/d/x\n!/d\n\(mark("d"))/e/x\n!/e\n*\n", "/e/x\n!/e\n*\n"
        ),
        (
            "!/d/x/y\n/d/x\n!/d\n!/dd\n*\n", "d", "p/q",
            "!/d/x/y\n/d/x\n!/d\n!/dd\n\(mark("d"))!/p/q/x/y\n/p/q/x\n!/p/q\n*\n", "!/dd\n!/p/q/x/y\n/p/q/x\n!/p/q\n*\n"
        ),
        // Into a selected directory: only what is left out needs a line, before the one that selects.
        ("/d/x\n!/d\n!/s\n*\n", "d", "s/d", "/d/x\n!/d\n/s/d/x\n!/s\n\(mark("d"))*\n", "/s/d/x\n!/s\n*\n"),
        ("!/a\n!/s\n*\n", "a", "s/a", "!/a\n!/s\n\(mark("a"))*\n", "!/s\n*\n"),
        // What may go when space is short may go under its new name.
        (
            "// synctrain: while-space /a\n!/a\n*\n", "a", "b",
            "// synctrain: while-space /a\n!/a\n\(mark("a"))!/b\n// synctrain: while-space /b\n*\n",
            "!/b\n// synctrain: while-space /b\n*\n"
        ),
        // Part of a selected directory that was left out, and selected again by name.
        (
            "!/d/x/y\n/d/x\n!/d\n*\n", "d/x/y", "z", "!/d/x/y\n/d/x\n!/d\n\(mark("d/x/y"))!/z\n*\n",
            "/d/x\n!/d\n!/z\n*\n"
        ),
        ("!/a\r\n*\r\n", "a", "b", "!/a\r\n// synctrain: moved /a\r\n!/b\r\n*\r\n", "!/b\r\n*\r\n"),
    ])
    func follows(text: String, from: String, to: String, expected: String, ended: String) throws {
        let edit = try editor(text).following([SelectionMove(from: from, to: to)])
        #expect(edit.file.text == expected)
        let selection = try Selection(edit.file)
        #expect(!selection.isIgnored(from) && !selection.isIgnored(to), "either may be all that is left after a crash")
        #expect(edit.file.paths(marked: .moved) == [from])
        // Once more changes nothing.
        #expect(try SelectionEditor(edit.file).following([SelectionMove(from: from, to: to)]).file == edit.file)
        let end = try SelectionEditor(edit.file).ending(dropped: [from], kept: [])
        #expect(end.file.text == ended)
        #expect(try !Selection(end.file).isIgnored(to))
    }

    /// Each way of writing a directory's lines says the same of what is in it under its new name.
    @Test(arguments: ["x", "x/y", "x/y/z", "w", "w/v"])
    func saysTheSameOfWhatIsBelow(below: String) throws {
        let text = "!/d/x/y\n/d/x\n/d/w\n!/d\n!/s\n*\n"
        let before = try Selection(parsing: text)
        for to in ["e", "s/d", "p/q"] {
            let edit = try editor(text).following([SelectionMove(from: "d", to: to)])
            let after = try Selection(edit.file)
            #expect(after.isIgnored("\(to)/\(below)") == before.isIgnored("d/\(below)"), "\(to)/\(below)")
        }
    }

    @Test func marksOneThatAnotherLineSelectsByNow() throws {
        let edit = try editor("!/a\n!/b\n*\n").following([SelectionMove(from: "a", to: nil)])
        #expect(edit.file.text == "!/a\n!/b\n\(Self.mark("a"))*\n")
        #expect(try SelectionEditor(edit.file).ending(dropped: ["a"], kept: []).file.text == "!/b\n*\n")
    }

    @Test func aChainLeavesTheLastLine() throws {
        let first = try editor("!/a\n*\n").following([SelectionMove(from: "a", to: "b")])
        let second = try SelectionEditor(first.file).following([SelectionMove(from: "b", to: "c")])
        #expect(second.file.paths(marked: .moved) == ["a", "b"])
        let end = try SelectionEditor(second.file).ending(dropped: ["a", "b"], kept: [])
        #expect(end.file.text == "!/c\n*\n")
    }

    @Test func whatIsThereAgainKeepsItsLine() throws {
        let edit = try editor("!/a\n*\n").following([SelectionMove(from: "a", to: "b")])
        #expect(try SelectionEditor(edit.file).ending(dropped: [], kept: ["a"]).file.text == "!/a\n!/b\n*\n")
        // So does what somebody selects anew.
        #expect(try SelectionEditor(edit.file).selecting("a").file.paths(marked: .moved) == [])
    }

    @Test(arguments: [
        ("/b\n!/a\n*\n", "b"), ("*.tmp\n!/a\n*\n", "a.tmp"), ("!/a\n*\n", ".stfolder/a"), ("!/a\n*\n", "x\ny"),
    ])
    func refusesWhatNoLineCanSelect(text: String, to: String) throws {
        #expect(throws: IgnoreError.self) { try editor(text).following([SelectionMove(from: "a", to: to)]) }
    }
}
