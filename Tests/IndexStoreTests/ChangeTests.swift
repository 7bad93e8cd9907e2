import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct ChangeTests {
    private static func change(_ name: String, _ time: Int64 = 1, from old: String? = nil) -> RecordedChange {
        RecordedChange(
            time: time, kind: old == nil ? .added : .renamed, name: name, oldName: old, device: alice.shortID)
    }

    @Test func theNewestComeInTheirOrder() async throws {
        let index = try await TestIndex()
        try await index.store.record([Self.change("a", 5), Self.change("d/b", 4)], in: music)
        try await index.store.record([Self.change("d/c", 9, from: "e/c")], in: music)
        func names(_ path: String = "", after: Int64 = 0, since: Int64 = .min, limit: Int = 9) async throws -> [String]
        {
            try await index.store.changes(in: music, below: path, after: after, since: since, limit: limit).map(\.name)
        }
        #expect(try await names() == ["a", "d/b", "d/c"])
        #expect(try await names(limit: 2) == ["d/b", "d/c"])
        #expect(try await names(after: 2) == ["d/c"])
        #expect(try await names(since: 5) == ["a", "d/c"])
        #expect(try await names("d") == ["d/b", "d/c"])
        // Of a renamed one the name before counts as well, and the start of a name is not a directory.
        #expect(try await names("e") == ["d/c"])
        #expect(try await names("a") == ["a"])
        #expect(try await names("d/") == [])
        let last = try #require(try await index.store.changes(in: music, limit: 1).first)
        var expected = Self.change("d/c", 9, from: "e/c")
        expected.number = 3
        #expect(last == expected)
    }

    /// What a program did before it was ended has happened.
    @Test func theyAreKeptInATaskThatWasCancelled() async throws {
        let index = try await TestIndex()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await index.store.record([Self.change("a")], in: music)
            try await index.store.note(Completeness(), of: music)
        }
        try await task.value
        #expect(try await index.store.changes(in: music, limit: 9).map(\.name) == ["a"])
    }

    @Test func noMoreAreKeptThanTheLimit() async throws {
        let index = try await TestIndex()
        let limit = Int(IndexStore.changeLimit)
        try await index.store.record((0..<limit - 1).map { Self.change("\($0)") }, in: music)
        try await index.store.record((0..<3).map { Self.change("new \($0)") }, in: music)
        let kept = try await index.store.changes(in: music, limit: .max)
        #expect(kept.count == limit && kept.first?.name == "2" && kept.last?.name == "new 2")
        try await index.store.record((0..<limit + 5).map { Self.change("at once \($0)") }, in: music)
        let last = try await index.store.changes(in: music, limit: .max)
        #expect(last.count == limit && last.first?.name == "at once 5")
    }

    @Test func theyGoWithTheirFolder() async throws {
        let index = try await TestIndex()
        try await index.store.record([Self.change("a")], in: music)
        try await index.store.removeFolder(music)
        try await index.store.record([Self.change("b")], in: music)
        try await index.store.addFolder(music, newIndexID: IndexID(rawValue: 2))
        #expect(try await index.store.changes(in: music, limit: 9) == [])
    }
}
