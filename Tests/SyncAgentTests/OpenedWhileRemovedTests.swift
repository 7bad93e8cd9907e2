import AgentConfiguration
import BlockExchange
import FileAccess
import Foundation
import IndexStore
import SessionTestKit
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync
@testable import SyncAgent

/// A program opens a file for writing at the very moment at which the file is removed: it has the file, or none.
struct OpenedWhileRemovedTests {
    private static let id = FolderID("docs")
    private static let nas = DeviceID(certificateDER: [1])

    /// Opens the file whenever something is about to be changed on the disk, for as long as it is there.
    private final class Opener: DiskInterposer {
        struct State {
            var board: WritingBoard?
            var isOpen = false
            var changes = 0
        }
        let state = Mutex(State())
        private let path: String

        init(path: String) { self.path = path }

        func verdict(on change: DiskChange) -> DiskVerdict {
            state.withLock { state in
                guard let board = state.board else { return }
                state.changes += 1
                if !state.isOpen, FileManager.default.fileExists(atPath: path) { state.isOpen = board.open("a") != nil }
            }
            return .proceed
        }
    }

    private static func removing(
        _ body: (FolderSync.Folder, IndexStore) async throws -> Void
    ) async throws {
        let (tree, home) = (try TemporaryTree(), try TemporaryDirectory())
        let opener = Opener(path: tree.path("a"))
        try tree.makeDirectory(".stfolder")
        try tree.write("what the program has seen", to: "a")
        try tree.write("another", to: "b")
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
        let folder = FolderSync.Folder(
            idle: FolderConfiguration(id: id, path: tree.root.path, mode: .full, devices: [nas]),
            of: DeviceID(certificateDER: [9]), index: index, interposer: opener
        ) { tools in
            // Everything was written long ago.
            tools.diskTime = { FileTime(seconds: 4_000_000_000) }
        }
        _ = try await folder.runner.perform(ScanStep(isRequested: true))
        opener.state.withLock { $0.board = folder.boards.writing }
        try await body(folder, index)
        let state = opener.state.withLock { $0 }
        #expect(state.changes > 0)
        #expect(state.isOpen == (tree.text("a") != nil), "what was opened lost its name")
        #expect(!state.isOpen, "it was removed when nobody had it open")
        #expect(folder.boards.writing.open("a") != nil, "nothing is removed any more")
    }

    @Test func byAnotherDevice() async throws {
        try await Self.removing { folder, index in
            var file = try #require(try await index.local(Self.id, "a")).file
            (file.isDeleted, file.blocks, file.size, file.sequence) = (true, [], 0, 1)
            file.version = file.version.updated(by: Self.nas.shortID, unixSeconds: 4_000_000_000)
            try await index.applyIndex(
                of: Self.id, device: Self.nas, files: [file], replacesAll: false, isIgnored: { _ in false })
            _ = try await folder.runner.perform(
                PlanPullStep(names: nil, cursor: nil, attempted: [], deletions: [], countsNeed: false))
        }
    }

    @Test func byAPersonOnAllDevices() async throws {
        try await Self.removing { folder, _ in
            _ = try await folder.runner.perform(DeleteEverywhereStep(paths: ["a"]))
        }
    }
}
