import AgentConfiguration
import BlockExchange
import FileAccess
import IndexStore
import SessionTestKit
import SyncTestKit
import Testing

@testable import FolderSync

/// Of which names a plan is made, so that it sees both ends of a rename.
struct PullWindowTests {
    private static let id = FolderID("docs")
    private static let nas = DeviceID(certificateDER: [1])

    /// A look at a file's old name ends, another device announces that it renamed the file, and then the pull begins that
    /// follows from the look. Nobody who has the file is connected: what is not renamed is lost here.
    @Test func whatIsRenamedElsewhereWhileItsOldNameIsLookedAtIsRenamedHere() async throws {
        let tree = try TemporaryTree()
        let home = try TemporaryDirectory()
        try tree.makeDirectory(".stfolder")
        try tree.write([1, 2, 3], to: "old")
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(Self.id, newIndexID: IndexID(rawValue: 1))
        let folder = FolderSync.Folder(
            idle: FolderConfiguration(id: Self.id, path: tree.root.path, mode: .full, devices: [Self.nas]),
            of: DeviceID(certificateDER: [9]), index: index
        ) { tools in
            // The file was written long ago: a change would show.
            tools.diskTime = { FileTime(seconds: 4_000_000_000) }
        }
        while await folder.runner.performDue() {}
        let (oldPath, newPath) = (try RelativePath(parsing: "old"), try RelativePath(parsing: "new"))
        let before = try #require(try tree.root.status(of: oldPath))

        folder.boards.inbox.scan([oldPath])
        #expect(await folder.runner.performDue(), "the look")
        var new = try #require(try await index.local(Self.id, "old")).file
        var tombstone = new
        tombstone.version = tombstone.version.updated(by: Self.nas.shortID, unixSeconds: 1)
        (tombstone.isDeleted, tombstone.blocks, tombstone.blocksHash, tombstone.size) = (true, [], nil, 0)
        (new.name, new.version) = ("new", tombstone.version)
        (tombstone.sequence, new.sequence) = (1, 2)
        try await index.applyIndex(
            of: Self.id, device: Self.nas, files: [tombstone, new], replacesAll: false, isIgnored: { _ in false })
        while await folder.runner.performDue() {}

        #expect(try tree.root.status(of: newPath)?.inode == before.inode)
        #expect(try tree.root.status(of: oldPath) == nil)
    }
}
