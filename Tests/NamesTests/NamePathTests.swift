import Names
import Testing

/// Paths by their bytes: marks make one Character of a `/` and what is beside it.
@Suite struct NamePathTests {
    @Test(
        arguments: [
            ("a/b", "a", true), ("a/b/c", "a", true), ("a", "a", false), ("ab", "a", false), ("b/a", "a", false),
            ("a", "", true), ("", "", false), ("a/\u{301}x", "a", true), ("\u{0D4E}/x", "\u{0D4E}", true),
            ("a\u{301}/x", "a", false), ("\u{E9}/x", "\u{E9}", true), ("\u{E9}/x", "e\u{301}", false),
            ("/m/\u{301}x", "/m", true),
        ])
    func whatIsBelow(_ path: String, _ directory: String, _ isBelow: Bool) {
        #expect(path.isBelow(directory) == isBelow)
        let isSame = path.utf8.elementsEqual(directory.utf8)
        #expect(path.isAtOrBelow(directory) == (isBelow || isSame))
        #expect(path[...].isAtOrBelow(directory[...]) == (isBelow || isSame))
    }

    @Test(
        arguments: [
            ("a/b/c", ["a", "b", "c"], "a/b"), ("/a/b", ["a", "b"], "/a"), ("/a", ["a"], ""), ("a", ["a"], ""),
            ("", [], ""), ("a//b/", ["a", "b"], "a//b"), ("a/\u{301}x", ["a", "\u{301}x"], "a"),
            ("\u{0D4E}/x", ["\u{0D4E}", "x"], "\u{0D4E}"), ("/\u{301}x", ["\u{301}x"], ""),
        ] as [(String, [String], String)])
    func components(_ path: String, _ components: [String], _ parent: String) {
        #expect(path.pathComponents.map { Array($0.utf8) } == components.map { Array($0.utf8) })
        #expect(Array(path.parentPath.utf8) == Array(parent.utf8))
    }

    @Test func partsAreTakenByBytes() {
        #expect(Array("a/\u{301}x".behind("a").utf8) == Array("/\u{301}x".utf8))
        #expect("a".behind("a").isEmpty)
        #expect("new\u{0D4E}/x".without(suffix: "/x").map { Array($0.utf8) } == Array("new\u{0D4E}".utf8))
        #expect("b/e\u{301}".without(suffix: "/\u{E9}") == nil)
        #expect("x".without(suffix: "/x") == nil)
        #expect("/x".without(suffix: "/x") == "")
    }
}
