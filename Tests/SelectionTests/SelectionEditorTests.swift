import SyncTestKit
import Testing

@testable import Selection

@Suite struct SelectionEditorTests {
    private func editor(_ text: String) throws -> SelectionEditor { SelectionEditor(try IgnoreFile(parsing: text)) }

    @Test(arguments: [
        // A first path goes before the rest's rule, below the comments about the file.
        ("// about\n*\n", ["a"], "// about\n!/a\n*\n"),
        ("*", ["a"], "!/a\n*"),
        ("(?d).DS_Store\n!/a\n\n// the rest\n*\n", ["b/c"], "(?d).DS_Store\n!/a\n!/b/c\n\n// the rest\n*\n"),
        // A directory takes the place of what is below it, and only of that.
        ("!/a/b\n!/ab\n!/a/c/d\n!/b\n*\n", ["a"], "!/ab\n!/b\n!/a\n*\n"),
        ("!/a\n*\n", ["a/b"], "!/a\n*\n"),
        ("!/a\n*\n", ["ab"], "!/a\n!/ab\n*\n"),
        ("/a/b\n!/a\n*\n", ["a/b"], "!/a\n*\n"),
        ("/a/b\n!/a\n*\n", ["a/b/c"], "!/a/b/c\n/a/b\n!/a\n*\n"),
        ("*\n", ["b", "a/c", "a", "b"], "!/b\n!/a\n*\n"),
        ("*\r\n", ["a"], "!/a\r\n*\r\n"),
        // In a full folder only what was left out needs an edit.
        ("/a\n*.tmp\n", ["a", "b"], "*.tmp\n"),
        (
            "*\n", ["we[i]rd {n}ame*?! \\x", "end ", " start"],
            "!/we\\[i\\]rd \\{n\\}ame\\*\\?\\! \\\\x\n!/end[ ]\n!/ start\n*\n"
        ),
        ("#escape=|\n*\n", ["a|b*", "c\\d"], "#escape=|\n!/a||b|*\n!/c[\\-\\]d\n*\n"),
    ])
    func selecting(text: String, paths: [String], expected: String) throws {
        let edit = try editor(text).selecting(paths)
        #expect(edit.file.text == expected)
        #expect(edit.isChange == (text != expected))
        let selection = try Selection(edit.file)
        for path in paths { #expect(!selection.isIgnored(path) && !selection.isIgnored(path + "/x")) }
    }

    @Test(arguments: [
        ("!/a\n!/b\n*\n", ["a"], "!/b\n*\n"),
        ("!/a/b\n!/ab\n!/a/c\n*\n", ["a"], "!/ab\n*\n"),
        ("!/a\n*\n", ["a/b"], "/a/b\n!/a\n*\n"),
        ("// x\n!/b\n!/a\n*\n", ["a/b/c", "a/d"], "// x\n!/b\n/a/b/c\n/a/d\n!/a\n*\n"),
        ("!/a/b/c\n/a/b\n!/a\n*\n", ["a/b/c"], "/a/b\n!/a\n*\n"),
        ("!/a/b/c\n/a/b\n!/a\n*\n", ["a"], "*\n"),
        ("!/a\n*\n", ["ab", "c"], "!/a\n*\n"),
        ("*.tmp", ["a/b"], "*.tmp\n/a/b\n"),
        ("/a/b\n", ["a"], "/a\n"),
        ("!/x[ ]\n*\n", ["x "], "*\n"),
    ])
    func deselecting(text: String, paths: [String], expected: String) throws {
        let edit = try editor(text).deselecting(paths)
        #expect(edit.file.text == expected)
        let selection = try Selection(edit.file)
        for path in paths { #expect(selection.isIgnored(path) && !selection.mayContainSelected(path)) }
    }

    @Test func saysWhatChanged() throws {
        let edit = try editor("!/a/b\n!/a/c\n!/z\n*\n").selecting(["a", "z"])
        #expect(edit.added == ["!/z", "!/a"] || edit.added == ["!/a", "!/z"])
        #expect(edit.removed == ["!/a/b", "!/a/c", "!/z"])
    }

    @Test func knowsWhichNamesALineCanHold() throws {
        for path in ["a", "a/b c", "a ", "[x]*?!{}", "back\\slash", "ä"] {
            #expect(try editor("*").canName(path), "\(path.debugDescription)")
        }
        for path in ["a\nb", "a\u{0}", "a\u{FFFD}", "a\n", "d\n/a", "", "a//b"] {
            #expect(try !editor("*").canName(path), "\(path.debugDescription)")
        }
    }

    @Test func refusesWhatItCannotDo() throws {
        func fault(_ text: String, selecting path: String) -> IgnoreError? {
            do throws(IgnoreError) {
                _ = try SelectionEditor(IgnoreFile(parsing: text)).selecting(path)
                return nil
            } catch { return error }
        }
        for path in ["", "/", "/a", "a/", "a//b", ".", "a/../b", "./a"] {
            #expect(fault("*", selecting: path)?.code == .invalidPath, "\(path)")
        }
        for path in ["a\nb", "a\u{0}", "a\u{FFFD}", "a\n"] {
            #expect(fault("*", selecting: path)?.code == .inexpressiblePath, "\(path.debugDescription)")
        }
        let ignored = fault("!/x\n(?d)*.tmp\n*", selecting: "a/b.tmp")
        #expect(ignored?.code == .overruled && ignored?.line == 2 && ignored?.message.contains("(?d)*.tmp") == true)
        #expect(fault("*", selecting: ".stfolder/x")?.code == .overruled)
        #expect(fault("*", selecting: "a/.syncthing.x.tmp")?.code == .overruled)
        #expect(throws: IgnoreError.self) { try editor("!*.jpg\n*").deselecting("a.jpg") }
        #expect(throws: IgnoreError.self) { try editor("#include nope\n*").selecting("a") }
        #expect(
            try SelectionEditor(IgnoreFile(parsing: "#include x\n*"), include: { _ in "b" }).selecting("a").file.text
                == "#include x\n!/a\n*")
    }

    /// What another line includes cannot be deselected by name; what is below it in the file has no say.
    @Test(arguments: [
        ("!*.jpg\n!/d\n*", ["d/a.jpg"]), ("!/d\n!*.jpg\n*", []), ("!*.jpg\n*", ["d/a.jpg"]),
        ("!/d/a.jpg\n!*.jpg\n!/d\n*", ["d/a.jpg"]), ("!/d/a.jpg\n!/d\n*", []), ("!*.jpg", ["d/a.jpg"]), ("!*", []),
        ("*", []),
        ("#include x\n*", ["d/b"]), ("!(?i)/d/B\n!/d\n*", ["d/b"]),
    ])
    func knowsWhatIsOverruled(text: String, overruled: [String]) throws {
        let editor = SelectionEditor(try IgnoreFile(parsing: text), include: { _ in "!/d/b" })
        #expect(try editor.overruled(deselecting: ["d/a.jpg", "d/b"]) == Set(overruled))
        for path in ["d/a.jpg", "d/b"] {
            let isRefused = (try? editor.deselecting(path)) == nil
            #expect(isRefused == overruled.contains(path), "\(path)")
        }
    }

    /// Marks are comments that name their path; what is said of a path takes the place of what was said before.
    @Test func marksFollowTheirPaths() throws {
        let spare = try editor("*\n").selecting(["b", "a/c"], whileSpace: true)
        #expect(
            spare.file.text
                == "// synctrain: while-space /a/c\n// synctrain: while-space /b\n!/b\n!/a/c\n*\n")
        #expect(spare.file.paths(marked: .whileSpace) == ["a/c", "b"])
        let again = try SelectionEditor(spare.file).selecting(["b", "a/c"], whileSpace: true)
        #expect(again.file.paths(marked: .whileSpace) == ["a/c", "b"])
        let kept = try SelectionEditor(spare.file).selecting(["a"])
        #expect(kept.file.text == "// synctrain: while-space /b\n!/b\n!/a\n*\n")
        #expect(kept.removed == ["// synctrain: while-space /a/c", "!/a/c"])
        let gone = try SelectionEditor(kept.file).deselecting(["b"])
        #expect(gone.file.text == "!/a\n*\n")
        let alone = try SelectionEditor(gone.file).leavingAlone(["x/y", "z"])
        #expect(alone.file.text == "!/a\n// synctrain: leave-alone /x/y\n// synctrain: leave-alone /z\n*\n")
        #expect(alone.added.count == 2)
        let wider = try SelectionEditor(alone.file).leavingAlone(["x"])
        #expect(
            wider.file.paths(marked: .leaveAlone) == ["z", "x"] || wider.file.paths(marked: .leaveAlone) == ["x", "z"])
        #expect(try SelectionEditor(wider.file).leavingAlone(["x/y"]).isChange == false)
        // Sorted by hand, or with another line's end, they say the same.
        let byHand = try editor(
            "!/a\r\n*\r\n  // synctrain: leave-alone /x \r\n// synctrain: other /y\r\n//synctrain /q\r\n")
        #expect(byHand.file.paths(marked: .leaveAlone) == ["x"])
        #expect(!PathSet(["\u{E9}"]).contains("e\u{301}/x") && PathSet(["\u{E9}"]).contains("\u{E9}/\u{301}x"))
        #expect(PathSet.topmost(["\u{E9}", "e\u{301}", "\u{E9}/x"]).count == 2)
        let marked = try editor("*").leavingAlone(["\u{301}a"]).file.paths(marked: .leaveAlone)
        #expect(marked.map { Array($0.utf8) } == [Array("\u{301}a".utf8)])
        #expect(throws: IgnoreError.self) { try editor("*").leavingAlone(["a\nb"]) }
        #expect(throws: IgnoreError.self) { try editor("*").leavingAlone(["a "]) }
        #expect(throws: IgnoreError.self) { try editor("*").leavingAlone(["../a"]) }
    }

    @Test(arguments: [
        ("x", true), ("x/y", true), ("x/y/z", true), ("xy", false), ("", false), ("a", false), ("a/b", true),
        ("a/bc", false),
    ])
    func setsOfPathsHoldWhatIsBelow(path: String, expected: Bool) {
        #expect(PathSet(["x", "a/b"]).contains(path) == expected)
    }

    /// The ignore file of a selective folder in which nothing is selected.
    private static let skeleton = """
        // The first line that matches a path decides.
        *

        """

    @Test func skeletonSelectsNothing() throws {
        let editor = try editor(Self.skeleton)
        #expect(editor.isSelective && editor.list().isEmpty)
        #expect(try !Selection(editor.file).mayContainSelected(""))
        let edit = try editor.selecting("a/b")
        #expect(edit.file.text.hasSuffix("\n!/a/b\n*\n") && edit.file.text.hasPrefix("// "))
    }

    @Test(arguments: [
        ("*", true), ("", false), ("// *\n", false), ("/*\n", true), ("!*\n*", false), ("!/a\n*\n/b", true),
        ("a/*", false),
        ("**", true), ("!/a\n*.tmp\n", false), ("(?i)*", true),
    ])
    func recognisesSelectiveFiles(text: String, expected: Bool) throws {
        #expect(try editor(text).isSelective == expected)
    }

    @Test func listsPathsInFileOrder() throws {
        let text = "(?d).DS_Store\n!/b\n/a/x\n!/a\n!glob*\n!/c\\*\n!/b/\n(?i)!/D\n*\n!/late\n"
        #expect(try editor(text).list() == ["b", "a", "c*"])
    }

    @Test func convertsThereAndBack() throws {
        let full = "// mine\n(?d).DS_Store\n!keep.log\n*.log\n/build\n"
        let selective = try editor(full).convertedToSelective(selecting: ["a", "build/out"])
        #expect(selective.file.text == "// mine\n(?d).DS_Store\n*.log\n!/build/out\n/build\n!/a\n*\n")
        #expect(selective.removed == ["!keep.log"] && selective.added == ["!/build/out", "!/a", "*"])
        let partly = try SelectionEditor(selective.file).deselecting("a/secret")
        let back = try SelectionEditor(partly.file).convertedToFull()
        #expect(back.file.text == "// mine\n(?d).DS_Store\n*.log\n/build\n")
        #expect(try editor("!/a\n*\n/dead\n").convertedToFull().file.text == "")
        #expect(try editor("*.log\n").convertedToFull().isChange == false)
        #expect(try editor("!/a\n*\n").convertedToSelective().isChange == false)
        #expect(try editor("").convertedToSelective().file.text == "*\n")
    }

    // MARK: Properties

    private static let universe: [String] = {
        let names = ["a", "ab", ".DS_Store", "other"]
        var level = [""]
        var all: [String] = []
        for _ in 0..<4 {
            level = level.flatMap { path in names.map { path.isEmpty ? $0 : "\(path)/\($0)" } }
            all += level
        }
        return all
    }()

    private func included(_ file: IgnoreFile) throws -> Set<String> {
        let selection = try Selection(file)
        return Set(Self.universe.filter { !selection.isIgnored($0) })
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func editsDoWhatTheySayAndNothingElse(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let isSelective = !seed.isMultiple(of: 4)
        var file = try IgnoreFile(parsing: "// head\n(?d).DS_Store\n\n" + (isSelective ? "*\n" : ""))
        for _ in 0..<15 {
            let depth = Int.random(in: 1...3, using: &random)
            let path = (0..<depth).map { _ in random.pick(["a", "ab"]) }.joined(separator: "/")
            let selects = random.chance(50)
            let before = try included(file)
            let edit =
                try selects ? SelectionEditor(file).selecting(path) : SelectionEditor(file).deselecting(path)
            let after = try included(edit.file)
            for other in Self.universe {
                let isTarget = other == path || other.hasPrefix(path + "/")
                if isTarget {
                    let isGloballyIgnored = other.split(separator: "/").contains(".DS_Store")
                    #expect(after.contains(other) == (selects && !isGloballyIgnored), "\(other): \(edit.file.text)")
                } else {
                    #expect(after.contains(other) == before.contains(other), "\(other): \(edit.file.text)")
                }
            }
            #expect(edit.file.text.hasPrefix("// head\n(?d).DS_Store\n"))
            #expect(SelectionEditor(edit.file).isSelective == isSelective)
            #expect(try IgnoreFile(parsing: edit.file.text) == edit.file)
            // Doing it again changes no decision.
            let again =
                try selects ? SelectionEditor(edit.file).selecting(path) : SelectionEditor(edit.file).deselecting(path)
            #expect(try included(again.file) == after)
            file = edit.file
        }
        // No line is without effect.
        let kept = try included(file)
        for line in file.lines where line.pattern?.literalPath != nil {
            let without = file.lines.filter { $0 != line }.flatMap(\.bytes)
            #expect(try included(IgnoreFile(parsing: without)) != kept, "\(line) is idle in \(file.text)")
        }
    }

    @Test func anyNameComesBackAsItIs() throws {
        var random = SeededGenerator(seed: 31)
        let pieces = [
            "a", "B", " ", "\\", "!", "*", "**", "?", "[", "]", "{", "}", ",", "#", "(?i)", "//", "|", "ü", "\u{3000}",
            "\t", "-",
            "^", "日本", "e\u{301}", "\r", ".", "~",
        ]
        for escape in ["", "#escape=|\n", "#escape=^\n", "#escape=ü\n"] {
            for _ in 0..<120 {
                let path = (0..<Int.random(in: 1...8, using: &random)).map { _ in random.pick(pieces) }.joined()
                let components = path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
                guard !components.contains(where: { ["", ".", ".."].contains(String($0) ?? "") }) else { continue }
                let edit = try SelectionEditor(IgnoreFile(parsing: escape + "*\n")).selecting(path)
                let editor = SelectionEditor(edit.file)
                #expect(editor.list().map { Array($0.utf8) } == [Array(path.utf8)], "\(edit.file.text)")
                let selection = try Selection(edit.file)
                #expect(
                    selection.selectedState(of: path) == .explicit
                        && selection.selectedState(of: path + "/x") == .implicit)
                #expect(selection.isIgnored(path + "x") && selection.isIgnored("x" + path))
                #expect(try editor.deselecting(path).file.text == escape + "*\n")
            }
        }
    }

    @Test func thousandsOfPathsAtOnce() throws {
        let paths = (0..<1_500).map { "d\($0 % 70)/e\($0)" }
        let edit = try SelectionEditor(IgnoreFile(parsing: Self.skeleton)).selecting(paths)
        #expect(edit.added.count == 1_500 && SelectionEditor(edit.file).list() == paths)
        let back = try SelectionEditor(edit.file).deselecting((0..<70).map { "d\($0)" })
        #expect(back.file.text == Self.skeleton)
    }
}
