import Testing

@testable import IndexStore

@Suite struct HeldDeletionTests {
    @Test func whatIsHeldBackOutlastsTheProcess() async throws {
        let index = try await TestIndex()
        var store = index.store
        #expect(try await store.heldDeletions(of: music) == nil)
        for held in [4, 0, nil] as [Int64?] {
            try await store.note(heldDeletions: held, of: music)
            try store.close()
            store = try IndexStore.open(path: index.directory.index)
            #expect(try await store.heldDeletions(of: music) == held)
        }
    }
}
