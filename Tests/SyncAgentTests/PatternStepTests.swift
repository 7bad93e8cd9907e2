import AgentConfiguration
import BlockExchange
import ControlAPI
import IndexStore
import SessionTestKit
import SyncTestKit
import Testing

@testable import FolderSync
@testable import SyncAgent

/// Ignore patterns on a real disk: tried without a trace, written only over what was edited.
struct PatternStepTests {
    private static let id = FolderID("docs")

    private static func withFolder(
        _ mode: FolderConfiguration.Mode, _ patterns: String,
        _ body: (FolderSync.Folder, TemporaryTree) async throws -> Void
    ) async throws {
        let tree = try TemporaryTree()
        let home = try TemporaryDirectory()
        try tree.makeDirectory(".stfolder")
        for name in ["a.tmp", "b.txt", "keep.tmp"] { try tree.write([1, 2, 3], to: name) }
        try tree.write(Array(patterns.utf8), to: ".stignore")
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
        let folder = FolderSync.Folder(
            idle: FolderConfiguration(id: id, path: tree.root.path, mode: mode),
            of: DeviceID(certificateDER: [9]), index: index)
        _ = try await folder.runner.perform(ScanStep(isRequested: true))
        try await body(folder, tree)
    }

    @Test func aPreviewSaysWhatIsMatchedAndWritesNothing() async throws {
        try await Self.withFolder(.full, "// mine\n") { folder, tree in
            let reading = SelectionReading(folder: try folder.runner.reading())
            #expect(try await reading.patterns() == IgnorePatterns(folder: "docs", text: "// mine\n"))
            let found = try await reading.preview("!keep.tmp\n*.tmp\n")
            #expect(found.lines.map(\.matched.names) == [["keep.tmp"], ["a.tmp"]])
            #expect(found.lines.map(\.isIgnoring) == [false, true] && found.lines.map(\.number) == [1, 2])
            #expect(found.files == 3 && found.isWhole && found.isDryRun)
            #expect(found.newlyIgnored == .init(files: 1, bytes: 3, names: ["a.tmp"]))
            #expect(found.newlyKept.files == 0)
            #expect(tree.text(".stignore") == "// mine\n")
            await #expect(throws: (any Error).self) { try await reading.preview("[a") }
        }
    }

    @Test func patternsAreWrittenOverWhatWasEdited() async throws {
        try await Self.withFolder(.full, "") { folder, tree in
            let outcome = try await folder.runner.perform(WritePatternsStep(text: "*.tmp\n", over: ""))
            #expect(outcome.newlyIgnored.files == 2 && !outcome.isDryRun)
            #expect(tree.text(".stignore") == "*.tmp\n")
            let explained = try await SelectionReading(folder: try folder.runner.reading()).explain("a.tmp")
            #expect(explained.selected == .no)
            // Another program's lines, and those of who has not seen ours, stay.
            let error = await #expect(throws: ControlError.self) {
                try await folder.runner.perform(WritePatternsStep(text: "*.txt\n", over: ""))
            }
            #expect(error?.code == .alreadyExists)
            await #expect(throws: (any Error).self) {
                try await folder.runner.perform(WritePatternsStep(text: "[a", over: "*.tmp\n"))
            }
            #expect(tree.text(".stignore") == "*.tmp\n")
        }
    }

    /// They would select everything, which is the other mode.
    @Test func aSelectiveFolderKeepsItsLines() async throws {
        try await Self.withFolder(.selective, "!/a.tmp\n*\n") { folder, tree in
            let error = await #expect(throws: ControlError.self) {
                try await folder.runner.perform(WritePatternsStep(text: "// none\n", over: "!/a.tmp\n*\n"))
            }
            #expect(error?.code == .invalidRequest)
            #expect(tree.text(".stignore") == "!/a.tmp\n*\n")
        }
    }
}
