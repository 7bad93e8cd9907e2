import SyncTestKit
import Testing

@testable import Selection

/// A file to which lines are added one by one says what the editor would have it say, and is read so as well.
@Suite struct GrowingSelectionTests {
    private static func growing(_ text: String) throws -> GrowingSelection? {
        let file = try IgnoreFile(parsing: text)
        return GrowingSelection(file, try Selection(file))
    }

    private static func text(_ growing: GrowingSelection?) -> String? {
        growing.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test(arguments: [
        ("*\n", "a", "// synctrain: while-space /a\n!/a\n*\n"),
        ("*", "d/a b", "// synctrain: while-space /d/a b\n!/d/a b\n*"),
        ("!/b\r\n\r\n// rest\r\n*\r\n", "a", "!/b\r\n// synctrain: while-space /a\r\n!/a\r\n\r\n// rest\r\n*\r\n"),
        ("#escape=|\n*.o\n*\n!/z\n", "x[1]", "#escape=|\n*.o\n// synctrain: while-space /x[1]\n!/x|[1|]\n*\n!/z\n"),
        ("!/d/x\n*\n", "d/y", "!/d/x\n// synctrain: while-space /d/y\n!/d/y\n*\n"),
        // What the editor has more to do with, or refuses.
        ("*.o\n*\n", "a.o", nil), ("(?i)/A\n*\n", "a", nil), ("/a\n*\n", "a", nil), ("!/a/b\n*\n", "a", nil),
        ("!/a\n*\n", "a/b", nil), ("// synctrain: leave-alone /a\n*\n", "a", nil),
        ("// synctrain: while-space /a/b\n*\n", "a", nil), ("*\n!/a\n", "a", nil), ("*\n", "a\n", nil),
        ("*\n", "../a", nil), ("*\n", "", nil),
        // Nothing, or another file, excludes the rest.
        ("/b\n", "a", nil), ("", "a", nil), ("#include other\n*\n", "a", nil), ("!*\n", "a", nil),
    ])
    func aLineGoesWhereTheEditorPutsIt(_ text: String, path: String, expected: String?) throws {
        if text.hasPrefix("#include") {
            let file = try IgnoreFile(parsing: text)
            return #expect(GrowingSelection(file, try Selection(file) { _ in "" }) == nil)
        }
        let grown = try Self.growing(text)?.adding(path)
        #expect(Self.text(grown) == expected)
        guard let expected else { return }
        let edit = try SelectionEditor(try IgnoreFile(parsing: text)).selecting([path], whileSpace: true)
        #expect(edit.file.text == expected)
    }

    @Test func limitsHold() throws {
        let long = String(repeating: "/" + String(repeating: "x", count: 64_000) + "\n", count: 16)
        let growing = try #require(try Self.growing(long + "*\n"))
        #expect(growing.adding("a") != nil)
        #expect(growing.adding(String(repeating: "y", count: 30_000)) == nil)
    }

    /// All questions, of files with random lines to which random names are added, against a file that is read as a whole.
    @Test(arguments: 1...12) func growsAsTheEditorEdits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var text = (0..<Int.random(in: 0...6, using: &random)).map { _ in RandomPatterns.line(&random) + "\n" }.joined()
        if random.chance(30) { text += "\n// the rest\n" }
        text += "*\n"
        if random.chance(20) { text += RandomPatterns.line(&random) + "\n" }
        guard let file = try? IgnoreFile(parsing: text) else { return }
        var growing = GrowingSelection(file, try Selection(file))
        // More than are kept apart.
        for number in 0..<AddedLines.limit + 10 {
            let path = random.chance(50) ? RandomPatterns.path(&random) : "\(RandomPatterns.path(&random))/n\(number)"
            guard let now = growing else { return }
            let editor = SelectionEditor(try IgnoreFile(parsing: now.bytes))
            guard let next = now.adding(path) else { continue }
            let edit = try editor.selecting([path], whileSpace: true)
            #expect(edit.removed.isEmpty)
            try #require(Self.text(next) == edit.file.text)
            growing = next
            let whole = try Selection(edit.file)
            try #require(next.selection == whole)
            #expect(next.whileSpace == PathSet(edit.file.paths(marked: .whileSpace)))
            let paths = (0..<8).map { _ in RandomPatterns.path(&random) }
            for path in paths + [path, path + "/x", String(path.split(separator: "/")[0]), ""] {
                #expect(next.selection.explain(path) == whole.explain(path))
                #expect(next.selection.mayContainSelected(path) == whole.mayContainSelected(path))
                #expect(next.selection.mayContainLeftOut(path) == whole.mayContainLeftOut(path))
                #expect(next.selection.isParentOfLeftOut(path) == whole.isParentOfLeftOut(path))
            }
        }
    }
}
