import AgentConfiguration
import BlockExchange
import FileAccess
import IndexStore
import SessionTestKit
import SyncTestKit
import Testing

@testable import FolderSync

/// A file with an empty version yields to what others announce. If nobody announces anything, it gets a version: nobody would ask for it.
struct VersionlessTests {
    private static let id = FolderID("docs")
    private static let nas = DeviceID(certificateDER: [1])
    private static let laptop = DeviceID(certificateDER: [9])

    /// A folder in which `a` has an empty version.
    private static func folder(_ body: (FolderSync.Folder, IndexStore) async throws -> Void) async throws {
        let (tree, home) = (try TemporaryTree(), try TemporaryDirectory())
        try tree.makeDirectory(".stfolder")
        try tree.write("mine", to: "a")
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
        let folder = FolderSync.Folder(
            idle: FolderConfiguration(id: id, path: tree.root.path, mode: .full, devices: [nas]), of: laptop,
            index: index
        ) { tools in
            // Everything was written long ago.
            tools.diskTime = { FileTime(seconds: 4_000_000_000) }
        }
        _ = try await folder.runner.perform(ScanStep(isRequested: true))
        let local = try #require(try await index.local(id, "a"))
        var file = local.file
        file.version = VersionVector()
        try await index.applyLocal(in: id, [.set(LocalEntry(file: file, status: local.status))]) { _ in false }
        try await body(folder, index)
        #expect(tree.text("a") == "mine")
    }

    private static func pull(_ folder: FolderSync.Folder) async throws {
        _ = try await folder.runner.perform(
            PlanPullStep(names: nil, cursor: nil, attempted: [], deletions: [], countsNeed: false))
    }

    private static func version(_ index: IndexStore) async throws -> VersionVector {
        try #require(try await index.local(id, "a")).file.version
    }

    @Test func itGetsOneThatHasSeenNothing() async throws {
        try await Self.folder { folder, index in
            try await Self.pull(folder)
            let version = try await Self.version(index)
            #expect(version.counters.count == 1)
            #expect(version.value(of: Self.laptop.shortID) == 0 && version.value(of: Self.nas.shortID) == 0)
            // Once is enough.
            try await Self.pull(folder)
            #expect(try await Self.version(index) == version)
        }
    }

    @Test func itYieldsToWhatComesBeforeThat() async throws {
        try await Self.folder { folder, index in
            try await index.setRemoteIndex(of: Self.id, device: Self.nas, to: IndexID(rawValue: 7))
            var theirs = try #require(try await index.local(Self.id, "a")).file
            (theirs.sequence, theirs.modifiedSeconds) = (1, 5)
            theirs.version = VersionVector().updated(by: Self.nas.shortID, unixSeconds: 5)
            try await index.applyIndex(
                of: Self.id, device: Self.nas, files: [theirs], replacesAll: false, isIgnored: { _ in false })
            try await Self.pull(folder)
            #expect(try await Self.version(index) == theirs.version)
        }
    }
}
