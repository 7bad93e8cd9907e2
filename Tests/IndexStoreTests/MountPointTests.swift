import BlockExchange
import Testing

@testable import IndexStore

@Suite struct MountPointTests {
    @Test func areReplacedAndOutliveARestart() async throws {
        let index = try await TestIndex()
        #expect(try await index.store.mountPoints(in: music) == [])
        try await index.store.setMountPoints(["a", "b/c"], in: music)
        try await index.store.setMountPoints(["b/c", "d é"], in: music)
        try index.store.close()
        let reopened = try IndexStore.open(path: index.directory.index)
        #expect(try await reopened.mountPoints(in: music) == ["b/c", "d é"])
        try await reopened.setConfirmedDeletions([1], in: music)
        try await reopened.removeFolder(music)
        try await reopened.addFolder(music, newIndexID: IndexID(rawValue: 7))
        #expect(try await reopened.mountPoints(in: music) == [])
        #expect(try await reopened.confirmedDeletions(in: music) == [])
    }

    @Test func confirmedDeletionsAreReplacedAndOutliveARestart() async throws {
        let index = try await TestIndex()
        #expect(try await index.store.confirmedDeletions(in: music) == [])
        try await index.store.setConfirmedDeletions([1, .min], in: music)
        try await index.store.setConfirmedDeletions([.max, .min], in: music)
        try index.store.close()
        let reopened = try IndexStore.open(path: index.directory.index)
        #expect(try await reopened.confirmedDeletions(in: music) == [.max, .min])
        try await reopened.setConfirmedDeletions([], in: music)
        #expect(try await reopened.confirmedDeletions(in: music) == [])
    }
}
