import SyncDecisions
import Testing

@testable import FolderSync

/// What this device noted earlier is not lost by a further note.
struct NoteStepTests {
    private static let own = "\(NoteFile.fileDirectory)/\(StepScene.me.shortID).json"

    private static func note(_ key: String, _ scene: StepScene) async throws -> [String] {
        let step = ChangeNotesStep(path: "a", set: [key: "v"], remove: [])
        return try await scene.run(step).output.notes.map(\.key)
    }

    /// Others can put as many files beside it as they like.
    @Test func ownNotesAreReadHoweverManyFilesThereAre() async throws {
        let scene = try await StepScene()
        #expect(try await Self.note("one", scene) == ["one"])
        for number in 0..<NoteFile.fileLimit {
            try scene.tree.write("", to: "\(NoteFile.fileDirectory)/00\(number).json")
        }
        #expect(try await Self.note("two", scene) == ["one", "two"])
        #expect(NoteFile(Array((scene.tree.text(Self.own) ?? "").utf8)).lines.map(\.key) == ["one", "two"])
    }

    @Test func ownNotesThatCannotBeReadAreNotOverwritten() async throws {
        let scene = try await StepScene()
        #expect(try await Self.note("one", scene) == ["one"])
        let text = try #require(scene.tree.text(Self.own)) + String(repeating: "\n", count: NoteFile.byteLimit)
        try scene.tree.write(text, to: Self.own)
        await #expect(throws: FolderError.self) { try await Self.note("two", scene) }
        #expect(scene.tree.text(Self.own) == text)
    }
}
