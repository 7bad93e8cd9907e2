import Testing

@testable import IndexStore

@Suite struct CompletenessTests {
    @Test func whatIsNotedOutlastsTheProcess() async throws {
        let index = try await TestIndex()
        var (completeness, store) = (Completeness(), index.store)
        #expect(try await store.completeness(of: music) == completeness)
        for (isComplete, end) in [(false, nil), (true, nil), (false, 20), (false, 20), (true, nil)] as [(Bool, Int64?)]
        {
            completeness.note(isComplete: isComplete, at: 20)
            #expect(completeness.end == end)
            try await store.note(completeness, of: music)
            try store.close()
            store = try IndexStore.open(path: index.directory.index)
            #expect(try await store.completeness(of: music) == completeness)
        }
        completeness.note(isComplete: false, at: 30)
        #expect(completeness.end == 30, "that it was complete is remembered as well")
    }
}
