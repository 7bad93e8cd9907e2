import FileAccess
import Foundation
import Selection
import SyncTestKit
import Testing

@testable import FolderScanner

@Suite struct SelectionScanTests {
    let tree: TemporaryTree

    init() throws { tree = try TemporaryTree() }

    @Test func onlyBranchesWithSomethingSelectedAreOpened() async throws {
        // 50 × 50 directories; in each of them a pipe, which would be a problem to whoever looks.
        for outer in 0..<50 {
            try #require(mkdir(tree.path("d\(outer)"), 0o755) == 0)
            for inner in 0..<50 {
                try #require(mkdir(tree.path("d\(outer)/e\(inner)"), 0o755) == 0)
                try #require(mkfifo(tree.path("d\(outer)/e\(inner)/pipe"), 0o600) == 0)
            }
        }
        try tree.write("1", to: "d7/e7/deep/er/f")
        let selection = try Selection(parsing: "!/d7/e7/deep\n*")
        let index = ModelIndex()
        let (findings, report) = try await tree.scan(index, selection: selection)
        #expect(
            findings.map(\.summary) == [
                "directory d7", "directory d7/e7", "directory d7/e7/deep", "directory d7/e7/deep/er",
                "file d7/e7/deep/er/f",
            ])
        #expect(report.directoriesOpened == 5)
        #expect(index.asked == ["", "d7", "d7/e7", "d7/e7/deep", "d7/e7/deep/er"])
        // Everything selected, the same tree is full of problems.
        #expect(try await tree.scan(ModelIndex()).report.problems == 2500)
    }

    @Test func whatIsNoLongerSelectedIsNotGone() async throws {
        try tree.write("1", to: "keep/f")
        try tree.write("1", to: "drop/d/f")
        try tree.write("1", to: "drop/g")
        try tree.write("1", to: "h")
        let index = try await tree.scanned()
        try tree.remove("h")
        let selection = try Selection(parsing: "!/keep\n*")
        let (findings, report) = try await tree.scan(index, selection: selection)
        #expect(
            findings.map(\.summary) == [
                "unkept drop/d/f not-looked-at", "unkept drop/d not-looked-at", "unkept drop/g not-looked-at",
                "unkept drop on-disk", "unkept h absent",
            ])
        #expect(report.directoriesOpened == 2)
        index.apply(findings)
        #expect(index.announced.keys.sorted() == ["keep", "keep/f"])
        // Said once.
        #expect(try await tree.findings(index, selection: selection).isEmpty)
        // Selected again, it is reported whole.
        let again = try await tree.findings(index)
        #expect(again.map(\.summary) == ["directory drop", "directory drop/d", "file drop/d/f", "file drop/g"])
    }

    @Test func whatWasRemovedWhileUnselectedIsNotDeletedWhenSelected() async throws {
        try tree.write("1", to: "a/f")
        let index = try await tree.scanned()
        let nothing = try Selection(parsing: "*")
        index.apply(try await tree.findings(index, selection: nothing))
        #expect(index.announced.isEmpty)
        try tree.remove("a")
        #expect(try await tree.findings(index).map(\.summary) == ["unkept a/f absent", "unkept a absent"])
    }

    @Test func aDirectoryIsKeptForWhatALineWithWildcardsIncludes() async throws {
        try tree.write("1", to: "a/b/note.md")
        try tree.write("1", to: "a/b/note.txt")
        try tree.write("1", to: "a/c/note.txt")
        try tree.write("1", to: "z/note.txt")
        let selection = try Selection(parsing: "!*.md\n*")
        let index = ModelIndex()
        let findings = try await tree.findings(index, selection: selection)
        #expect(findings.map(\.summary) == ["directory a", "directory a/b", "file a/b/note.md"])
        index.apply(findings)
        #expect(try await tree.findings(index, selection: selection).isEmpty)
        try tree.remove("a/b/note.md")
        #expect(
            try await tree.findings(index, selection: selection).map(\.summary) == [
                "gone a/b/note.md", "unkept a/b on-disk", "unkept a on-disk",
            ])
        #expect(
            try await tree.findings(index, selection: selection, ["a/b/note.md"]).map(\.summary) == ["gone a/b/note.md"]
        )
    }

    @Test func aFileOnTheWayToSomethingSelectedIsNotKept() async throws {
        try tree.write("mine", to: "a")
        let selection = try Selection(parsing: "!/a/b\n*")
        #expect(try await tree.findings(ModelIndex(), selection: selection).isEmpty)
    }

    @Test func aKeptDirectoryOfWhichNothingIsSelectedIsNotOpened() async throws {
        try tree.write("1", to: "docs/f")
        let index = try await tree.scanned()
        let selection = try Selection(parsing: "/docs/")
        let (findings, report) = try await tree.scan(index, selection: selection)
        #expect(findings.map(\.summary) == ["unkept docs/f not-looked-at"])
        #expect(report.directoriesOpened == 1)
    }

    @Test func anUnselectedFileInADirectorysPlace() async throws {
        try tree.write("1", to: "d/f")
        let index = try await tree.scanned()
        try tree.remove("d")
        try tree.write("", to: "d")
        let selection = try Selection(parsing: "/d")
        #expect(
            try await tree.findings(index, selection: selection).map(\.summary) == [
                "unkept d/f absent", "unkept d absent",
            ])
    }

    // MARK: extraneous

    private func extraneous(_ selection: Selection, workers: ScanOptions.Workers = .callingTask) async throws
        -> [String]
    {
        var options = ScanOptions.plain
        options.workers = workers
        options.batch.findings = 2
        let (batches, add) = AsyncStream.makeStream(of: ExtraneousBatch.self)
        let scanner = FolderScanner(root: tree.root, selection: selection, known: ModelIndex(), options: options)
        try await scanner.extraneous { batch in
            #expect(batch.entries.count + batch.problems.count <= 2)
            add.yield(batch)
        }
        add.finish()
        var lines: [String] = []
        for await batch in batches {
            lines += batch.entries.map { "\($0.status.type.rawValue) \($0.name) \($0.status.size)" }
            lines += batch.problems.map { "\($0.code.rawValue) \($0.name)" }
        }
        // A directory's size is the file system's business.
        return lines.map {
            $0.hasPrefix("directory") ? String($0.split(separator: " ").dropLast().joined(separator: " ")) : $0
        }
    }

    @Test(arguments: [ScanOptions.Workers.callingTask, .threads(2)])
    func whatLiesHereAndIsNotKept(workers: ScanOptions.Workers) async throws {
        try tree.write("1", to: "keep/f")
        try tree.write("22", to: "way/f")
        try tree.write("1", to: "way/selected")
        try tree.write("333", to: "drop/d/f")
        try tree.write("", to: "drop/.syncthing.x.tmp")
        try tree.write("1", to: "drop/note.md")
        try tree.link("l", to: "x")
        try tree.makeDirectory("empty")
        try tree.makeDirectory(".stfolder")
        try tree.write("", to: ".stversions/f")
        try #require(mkfifo(tree.path("pipe"), 0o600) == 0)
        let selective = try Selection(parsing: "!/keep\n!/way/selected\n*")
        #expect(
            try await extraneous(selective, workers: workers) == [
                "regular drop/d/f 3", "directory drop/d", "regular drop/note.md 1", "directory drop",
                "directory empty", "symlink l 1", "regular way/f 2",
            ])
        let wild = try Selection(parsing: "!*.md\n!/keep\n*")
        #expect(
            try await extraneous(wild, workers: workers) == [
                "regular drop/d/f 3", "directory drop/d", "directory empty", "symlink l 1", "regular way/f 2",
                "regular way/selected 1", "directory way",
            ])
        #expect(try await extraneous(.everything, workers: workers).isEmpty)
    }
}
