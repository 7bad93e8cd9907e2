import FileAccess
import SyncTestKit
import Testing

@Suite struct RelativePathTests {
    static let refused: [(String, RelativePathError.Reason)] = [
        ("", .empty),
        ("/", .absolute), ("/a", .absolute), ("//", .absolute),
        ("a/", .trailingSeparator), ("a//", .trailingSeparator), ("../", .trailingSeparator),
        ("a//b", .emptyComponent), ("a///b", .emptyComponent),
        (".", .dotComponent), ("..", .dotComponent), ("./a", .dotComponent), ("../a", .dotComponent),
        ("a/.", .dotComponent), ("a/..", .dotComponent), ("a/../b", .dotComponent), ("a/./b", .dotComponent),
        ("../../etc/passwd", .dotComponent), ("a/b/../../..", .dotComponent),
        ("a\0", .nulByte), ("\0", .nulByte), ("..\0", .nulByte), ("a/b\0/c", .nulByte),
        (String(repeating: "a", count: 256), .componentTooLong),
        ("x/" + String(repeating: "é", count: 128), .componentTooLong),
        (String(repeating: "abc/", count: 1024) + "d", .tooLong),
        (String(repeating: "a/", count: 256) + "a", .tooDeep),
    ]

    @Test(arguments: refused) func whatIsNoPathIsRefusedByReason(text: String, reason: RelativePathError.Reason) {
        #expect(RelativePath(text) == nil)
        let error = #expect(throws: RelativePathError.self) { try RelativePath(parsing: text) }
        #expect(error?.reason == reason)
        #expect(error?.path == text)
    }

    @Test(arguments: [
        "a", "a/b", ".a", "..a", "...", "a..", "a/...", " ", "a b/ c ", "-rf", "~", "a\\b", "a\nb", "\u{1}", "*?[]",
        "é", "e\u{301}",
        "日本/語", "🏳️‍🌈", String(repeating: "a", count: 255), String(repeating: "a/", count: 255) + "a",
        String(repeating: String(repeating: "a", count: 255) + "/", count: 15) + String(repeating: "a", count: 255),
    ]) func whatTheDiskCanNameIsTaken(text: String) throws {
        let path = try RelativePath(parsing: text)
        #expect(Array(path.text.utf8) == Array(text.utf8))
        #expect(RelativePath(text) == path)
        #expect(Array(path.components.joined(separator: "/").utf8) == Array(text.utf8))
    }

    @Test func partsOfAPath() throws {
        let path = try RelativePath(parsing: "a/bc/d.txt")
        #expect(path.components == ["a", "bc", "d.txt"])
        #expect(path.name == "d.txt")
        #expect(path.parent == RelativePath("a/bc"))
        #expect(path.parent?.parent == RelativePath("a"))
        #expect(path.parent?.parent?.parent == nil)
        #expect(try path.replacingName(with: "e") == RelativePath("a/bc/e"))
        #expect(try RelativePath(parsing: "x").replacingName(with: "e") == RelativePath("e"))
        #expect(try path.parent?.appending("d.txt") == path)
        #expect(try RelativePath(parsing: "a").appending("bc/d.txt") == path)
    }

    @Test(arguments: ["", "/b", "b/", "..", "../b", ".", "b/../..", "\0"])
    func nothingAppendedLeadsElsewhere(component: String) throws {
        let path = try RelativePath(parsing: "a")
        #expect(throws: RelativePathError.self) { try path.appending(component) }
        #expect(throws: RelativePathError.self) { try path.replacingName(with: component) }
    }

    /// Text that hides a slash from Swift's Characters: a combining mark joins the slash before it.
    @Test func partsAreSplitAsBytes() throws {
        let path = try RelativePath(parsing: "a/\u{301}b/c")
        #expect(path.components.count == 3)
        #expect(path.parent?.name == "\u{301}b")
        #expect(path.parent?.parent == RelativePath("a"))
        #expect(RelativePath("a/\u{301}/../b") == nil)
        #expect(RelativePath("/\u{301}a") == nil)
        #expect(RelativePath("a/\u{301}//\u{301}") == nil)
    }

    @Test func pathsAreComparedAsBytes() throws {
        let composed = try RelativePath(parsing: "\u{E9}")
        let decomposed = try RelativePath(parsing: "e\u{301}")
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(decomposed < composed)
        let sorted = try ["b", "a/b", "a", "a.b", "B", "é"].map(RelativePath.init(parsing:)).sorted()
        #expect(sorted.map(\.text) == ["B", "a", "a.b", "a/b", "b", "é"])
    }

    @Test(arguments: [
        ("a/b", "a", true), ("a/b/c", "a", true), ("a/b/c", "a/b", true), ("a", "a", false), ("ab", "a", false),
        ("ab/c", "a", false), ("a", "a/b", false), ("b/a", "a", false), ("a.b/c", "a", false),
    ]) func below(path: String, ancestor: String, expected: Bool) throws {
        #expect(try RelativePath(parsing: path).isBelow(RelativePath(parsing: ancestor)) == expected)
    }

    /// Any text made of the bytes that matter: what is taken holds to the rules, and what holds to them is taken.
    @Test func randomTextIsTakenExactlyWhenItHoldsToTheRules() {
        var generator = SeededGenerator(seed: 41)
        let alphabet: [Unicode.Scalar] = ["/", "/", ".", ".", "a", "\u{301}", "\0", "é"]
        var taken = 0
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                text.unicodeScalars.append(alphabet.randomElement(using: &generator) ?? "a")
            }
            let parts = text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
            let isSound =
                !text.unicodeScalars.contains("\0") && parts.allSatisfy { $0 != "" && $0 != "." && $0 != ".." }
            let path = RelativePath(text)
            #expect((path != nil) == isSound, "\(text.debugDescription)")
            guard let path else { continue }
            taken += 1
            #expect(path.components.map { Array($0.utf8) } == parts.map { Array($0.utf8) })
            #expect(path.parent?.components.count ?? 0 == parts.count - 1)
        }
        #expect(taken > 1000)
    }

    @Test func theErrorSaysWhatIsWrongAndWhatToDo() {
        let error = #expect(throws: RelativePathError.self) { try RelativePath(parsing: "a\n/../b") }
        let flaw = "“a\\u{a}/../b” is not a path inside a folder: it contains . or ..; "
        #expect(error?.message == flaw + "write the path from the folder's root")
    }
}

@Suite struct NameConventionTests {
    @Test(arguments: [
        (".stfolder", true), (".stfolder/x", true), (".stignore", true), (".stversions", true),
        (".stversions/a/b~1.txt", true),
        (".stfolder2", false), (".stignore.txt", false), ("a/.stfolder", false), ("a/.stignore", false),
        (".STFOLDER", false),
        ("stfolder", false), (".stfolde", false),
    ]) func internalNames(path: String, expected: Bool) throws {
        #expect(try RelativePath(parsing: path).isInternal == expected)
    }

    @Test(arguments: [
        (".syncthing.a.tmp", true), ("d/.syncthing.a.tmp", true), ("~syncthing~a.tmp", true), (".syncthing.", true),
        (".syncthing", false), (".syncthing./a", false), ("a.syncthing.b", false), ("~syncthing", false),
        ("x/~syncthing~/y", false),
    ]) func temporaryNames(path: String, expected: Bool) throws {
        #expect(try RelativePath(parsing: path).isTemporary == expected)
    }

    @Test(arguments: [
        ("a", ".syncthing.a.tmp"),
        ("ä b", ".syncthing.ä b.tmp"),
        (String(repeating: "a", count: 145), ".syncthing." + String(repeating: "a", count: 145) + ".tmp"),
        // SHA-256 by sha256sum(1); the limit counts bytes, of which an é has two.
        (
            String(repeating: "a", count: 146),
            ".syncthing.915bda2b208601a5fd51e6ad63dae50669038227884d065648a7e2677f87b1cf.tmp"
        ),
        (
            String(repeating: "é", count: 73),
            ".syncthing.54951c7bd813122e4c8b8796369f47574cc5b516b606104ad5ddd4c494e84bd1.tmp"
        ),
    ]) func nameOfTheStagedFile(name: String, expected: String) throws {
        #expect(RelativePath.temporaryName(for: name) == expected)
        let path = try RelativePath(parsing: "d/\(name)")
        #expect(path.temporaryPath?.text == "d/\(expected)")
        #expect(path.temporaryPath?.isTemporary == true)
        #expect(expected.utf8.count <= 160)
    }
}
