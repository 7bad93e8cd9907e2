import FileAccess
import Selection
import SyncTestKit
import Testing

@testable import FolderScanner

@Suite struct SubtreeTests {
    let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    @Test func aNewFileBringsItsNewDirectories() async throws {
        try tree.write("1", to: "a/old")
        let index = try await tree.scanned()
        try tree.write("1", to: "a/b/c/f")
        try tree.write("1", to: "a/b/other")
        try tree.write("1", to: "a/another")
        let (findings, report) = try await tree.scan(index, ["a/b/c/f", "a/b/c"])
        #expect(findings.map(\.summary) == ["directory a/b", "directory a/b/c", "file a/b/c/f"])
        #expect(report.directoriesOpened == 4)
        #expect(try await tree.findings(index, ["a/b/nothing"]).isEmpty)
    }

    @Test(arguments: [
        (["gone"], ["gone gone/d/f", "gone gone/d", "gone gone"]), (["gone/d/f"], ["gone gone/d/f"]),
        (["gone/d/f", "stays/f", "gone/d"], ["gone gone/d/f", "gone gone/d", "file stays/f"]),
        (["stays"], ["file stays/f"]), ([], []), (["nothing/at/all", "stays/nothing"], []), ([".stfolder/x"], []),
    ])
    func partsOfATree(subtrees: [String], expected: [String]) async throws {
        try tree.write("1", to: "gone/d/f")
        try tree.write("1", to: "stays/f")
        let index = try await tree.scanned()
        try tree.remove("gone")
        try tree.write("22", to: "stays/f")
        #expect(try await tree.findings(index, subtrees).map(\.summary) == expected)
    }

    @Test func aFileInAFoldersPlaceEndsWhatWasBelow() async throws {
        try tree.write("1", to: "d/e/f")
        let index = try await tree.scanned()
        try tree.remove("d")
        try tree.write("1", to: "d")
        #expect(try await tree.findings(index, ["d/e"]).map(\.summary) == ["gone d/e/f", "gone d/e"])
    }

    /// As when another device deletes a directory from which the user has just removed something.
    @Test(arguments: ["d/e/f", "d/e", "d"])
    func whatLiesBelowADirectoryKnownAsGoneIsGone(subtree: String) async throws {
        try tree.write("1", to: "d/e/f")
        let index = try await tree.scanned()
        try tree.remove("d")
        index["d"] = nil
        let isWhole = subtree != "d/e/f"
        #expect(
            try await tree.findings(index, [subtree]).map(\.summary)
                == (isWhole ? ["gone d/e/f", "gone d/e"] : ["gone d/e/f"]))
        index["d/e"] = nil
        #expect(try await tree.findings(index, ["d/e/f"]).map(\.summary) == ["gone d/e/f"])
        #expect(try await tree.findings(index, ["d/e"]).map(\.summary) == ["gone d/e/f"])
    }

    @Test func anUnselectedBranchIsNotOpened() async throws {
        try tree.write("1", to: "a/b/f")
        let index = try await tree.scanned()
        let selection = try Selection(parsing: "!/c\n*")
        let (findings, report) = try await tree.scan(index, selection: selection, ["a/b"])
        #expect(findings.map(\.summary) == ["unkept a/b/f not-looked-at", "unkept a/b not-looked-at"])
        #expect(report.directoriesOpened == 1)
    }

    @Test func branchesAreATreeOfNames() throws {
        let paths = try ["b/c", "a-b", "a/x", "a", "b/c/d", "b/a", "b/c"].map(relative)
        #expect(
            Branch.tree(to: paths) == [
                Branch(name: "a", below: nil), Branch(name: "a-b", below: nil),
                Branch(name: "b", below: [Branch(name: "a", below: nil), Branch(name: "c", below: nil)]),
            ])
        #expect(Branch.tree(to: []).isEmpty)
    }
}
