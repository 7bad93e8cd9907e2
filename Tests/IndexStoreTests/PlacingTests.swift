import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct PlacingTests {
    private let linked = FileInfo(
        name: "link", kind: .symlink, permissions: 0o777, version: version((alice, 3)), modifiedBy: alice.shortID,
        symlinkTarget: Array("target".utf8))

    @Test func whatIsNotedSurvivesTheProcess() async throws {
        let index = try await TestIndex()
        var named = file("d/a", version((alice, 1), (bob, 2)), size: 20, modified: 77, content: 5).withBlocksHash
        named.permissions = 0o600
        named.modifiedNanoseconds = 9
        try await index.store.notePlacing([named, linked], in: music)
        try index.store.close()
        let again = try IndexStore.open(path: index.directory.index)
        named.blocks = []
        named.sequence = 0
        #expect(try await again.placing(in: music) == ["d/a": named, "link": linked])
    }

    @Test func theLastOneCountsUntilItIsOver() async throws {
        let index = try await TestIndex()
        let (one, two) = (file("a", version((alice, 1))), file("a", version((alice, 2))))
        try await index.store.notePlacing([one, file("b", version((alice, 1)))], in: music)
        try await index.store.notePlacing([two], in: music)
        #expect(try await index.store.placing(in: music)["a"]?.version == two.version)
        try await index.store.applyLocal(
            in: music, [.set(LocalEntry(file: two, status: .init(inode: 1, changedSeconds: 1, changedNanoseconds: 1)))],
            placed: ["a", "nothing"], isIgnored: { _ in false })
        #expect(try await index.store.placing(in: music).keys.map(\.text) == ["b"])
        #expect(try await index.store.local(music, "a")?.file.version == two.version)
    }

    @Test func foldersHaveTheirOwn() async throws {
        let index = try await TestIndex()
        let other = FolderID("other")
        try await index.store.addFolder(other, newIndexID: IndexID(rawValue: 5))
        try await index.store.notePlacing([file("a", version((alice, 1)))], in: other)
        #expect(try await index.store.placing(in: music).isEmpty)
        try await index.store.removeFolder(other)
        try await index.store.addFolder(other, newIndexID: IndexID(rawValue: 6))
        #expect(try await index.store.placing(in: other).isEmpty)
    }
}
