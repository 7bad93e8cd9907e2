import AgentConfiguration
import BlockExchange
import FileAccess
import IndexStore
import Selection
import SyncTestKit
import Testing

@testable import FolderSync

/// Names that programs make where nothing is selected, one after the other: each gets its line, and what others write into
/// `.stignore` meanwhile stays.
struct ClaimedNamesTests {
    private static let id = FolderID("docs")

    private static func selective(
        _ lines: String, _ body: (TemporaryTree, FolderSync.Folder, IndexStore) async throws -> Void
    ) async throws {
        let (tree, home) = (try TemporaryTree(), try TemporaryDirectory())
        try tree.makeDirectory(".stfolder")
        try tree.write(lines, to: ".stignore")
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
        let folder = FolderSync.Folder(
            idle: FolderConfiguration(id: id, path: tree.root.path, mode: .selective, devices: []),
            of: DeviceID(certificateDER: [9]), index: index
        ) { tools in
            // Everything was written long ago.
            tools.diskTime = { FileTime(seconds: 4_000_000_000) }
        }
        _ = try await folder.runner.perform(ScanStep(isRequested: true))
        try await body(tree, folder, index)
    }

    private static func claim(_ name: String, _ folder: FolderSync.Folder) async throws {
        try await folder.runner.perform(
            ClaimNameStep(path: RelativePath(parsing: name), making: .file(permissions: 0o644), isMeant: { _ in true }))
    }

    @Test func eachGetsItsLine() async throws {
        try await Self.selective("!/kept\n\n// the rest\n*\n") { tree, folder, index in
            let names = (0..<70).map { "d/\($0)" }
            for name in names { try await Self.claim(name, folder) }
            let lines = names.map { "// synctrain: while-space /\($0)\n!/\($0)\n" }.joined()
            #expect(tree.text(".stignore") == "!/kept\n" + lines + "\n// the rest\n*\n")
            let place = try folder.boards.places.current.get()
            let read = try Selection(parsing: try #require(tree.text(".stignore")))
            #expect(place.selection == read)
            #expect(names.allSatisfy { place.whileSpace.contains($0) })
            #expect(names.allSatisfy { place.selection.selectedState(of: $0) == .explicit })
            #expect(place.isCurrent(for: folder.configuration), "what was written is what is known")
            _ = try await folder.runner.perform(ScanStep(isRequested: true))
            for name in names { #expect(try await index.local(Self.id, name)?.flags == []) }
        }
    }

    @Test(arguments: ["!/kept\n*\n", "!/other\n!/kept\n*\n", "!/kist\n*\n", "*.o\n!/kept\n*\n", "!/kept\r\n*\r\n"])
    func whatOthersWriteMeanwhileStays(_ text: String) async throws {
        try await Self.selective("!/kept\n*\n") { tree, folder, _ in
            try await Self.claim("a", folder)
            let before = try folder.boards.places.current.get()
            try tree.write(text, to: ".stignore")
            #expect(try before.growing(by: "b") == nil && tree.text(".stignore") == text)
            try await Self.claim("b", folder)
            let edit = try SelectionEditor(try IgnoreFile(parsing: text)).selecting(["b"], whileSpace: true)
            #expect(tree.text(".stignore") == edit.file.text)
        }
    }

    @Test func whatALineExcludesIsRefused() async throws {
        try await Self.selective("*.o\n*\n") { tree, folder, _ in
            await #expect(throws: IgnoreError.self) { try await Self.claim("a.o", folder) }
            #expect(tree.text(".stignore") == "*.o\n*\n" && tree.text("a.o") == nil)
            try await Self.claim("a", folder)
            #expect(tree.text("a") == "")
        }
    }
}
