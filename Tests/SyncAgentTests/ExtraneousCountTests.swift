import AgentConfiguration
import BlockExchange
import FileAccess
import FolderWatcher
import IndexStore
import SessionTestKit
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// What is on this disk and not selected is counted when it is reported, without anybody asking for it.
struct ExtraneousCountTests {
    private static let id = FolderID("docs")

    /// A selective folder in which `keep` is selected, and the time of its clock in seconds.
    private final class Scene: Sendable {
        let tree: TemporaryTree
        let home: TemporaryDirectory
        let folder: FolderSync.Folder
        let index: IndexStore
        let seconds = Time()

        final class Time: Sendable {
            let now = Mutex<Int64>(0)
        }

        init() async throws {
            tree = try TemporaryTree()
            home = try TemporaryDirectory()
            try tree.makeDirectory(".stfolder")
            try tree.write(Array("!/keep\n*\n".utf8), to: ".stignore")
            index = try IndexStore.open(path: home.path + "/index.sqlite")
            try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
            let seconds = seconds
            folder = FolderSync.Folder(
                idle: FolderConfiguration(id: id, path: tree.root.path, mode: .selective, devices: []),
                of: DeviceID(certificateDER: [9]), index: index
            ) { tools in
                tools.time.monotonic = { .seconds(seconds.now.withLock { $0 }) }
            }
        }

        /// Does what is due when so many seconds have passed.
        func pass(_ count: Int64) async {
            seconds.now.withLock { $0 += count }
            while await folder.runner.performDue() {}
        }

        func report(_ path: String) throws {
            let now = MonotonicTime.seconds(seconds.now.withLock { $0 })
            folder.boards.inbox.take(.changed([.item(try RelativePath(parsing: path))]), at: now)
        }

        var count: Int64 { folder.boards.status.snapshot.extraneous }
    }

    @Test func filesInBranchesThatAreNotSelectedAreFlaggedWithinAMinute() async throws {
        let scene = try await Scene()
        try scene.tree.makeDirectory("keep")
        try scene.tree.makeDirectory("loose/deep")
        await scene.pass(0)
        #expect(scene.count == 0)
        try scene.tree.write([1], to: "loose/deep/one")
        try scene.report("loose/deep/one")
        await scene.pass(1)
        #expect(scene.count == 0, "more may follow")
        try scene.tree.write([2], to: "two")
        try scene.report("two")
        await scene.pass(58)
        #expect(scene.count == 2)
        // What is selected is none of it, and what goes is counted no more.
        try scene.tree.write([3], to: "keep/three")
        try scene.tree.remove("two")
        try scene.report("keep/three")
        try scene.report("two")
        await scene.pass(1)
        await scene.pass(58)
        #expect(scene.count == 1)
    }

    @Test func withoutAReportTheNextScanFlagsThem() async throws {
        let scene = try await Scene()
        await scene.pass(0)
        try scene.tree.write([1], to: "loose")
        await scene.pass(1000)
        #expect(scene.count == 0)
        scene.folder.boards.inbox.scanEverything()
        await scene.pass(0)
        #expect(scene.count == 1)
    }

    @Test func scansTakeBackNotesOfFilesThatAreNoLongerAsTheyWereFetched() async throws {
        let scene = try await Scene()
        let names = ["changed", "gone", "keep", "same"]
        var notes: [FetchedFile] = []
        for name in names {
            try scene.tree.write([1], to: name)
            let status = try #require(try scene.tree.root.status(of: try RelativePath(parsing: name)))
            notes.append(FetchedFile(name: name, status))
        }
        try await scene.index.noteFetched(notes, in: Self.id)
        try scene.tree.write([1, 2], to: "changed")
        try scene.tree.remove("gone")
        scene.folder.boards.inbox.scanEverything()
        await scene.pass(0)
        #expect(try await scene.index.fetched(in: Self.id, limit: 9).map(\.name) == ["same"])
        #expect(scene.count == 1, "what changed is extraneous")
    }

    @Test func directoriesThatNobodyNamedAreWatched() async throws {
        let scene = try await Scene()
        try scene.tree.write(Array("/build\n!/keep\n*\n".utf8), to: ".stignore")
        await scene.pass(0)
        let places = scene.folder.boards.places
        #expect(places.isWatched("keep") && places.isWatched("loose") && places.isWatched("loose/deep"))
        #expect(!places.isWatched("build") && !places.isWatched("build/deep"))
    }
}
