import BlockExchange
import Testing

@testable import IndexStore

@Suite struct RenameSearchingTests {
    /// As large and as old as what is here, announced by others under another name; whatever it holds.
    @Test func findsWhatIsAsLargeAndAsOld() async throws {
        let index = try await TestIndex()
        let mine = file("a", version((alice, 1)), size: 7, modified: 50)
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: mine, status: LocalTests.status))]) { _ in
            false
        }
        try await index.announce(
            [
                mine, file("d/b", version((bob, 9)), size: 7, modified: 50, sequence: 2),
                file("c", version((bob, 9)), size: 7, modified: 50, sequence: 3, content: 5),
                file("larger", version((bob, 9)), size: 8, modified: 50, sequence: 4),
                file("younger", version((bob, 9)), size: 7, modified: 51, sequence: 5),
                directory("dir", version((bob, 9)), sequence: 6),
            ], by: bob)
        let found = try await index.store.filesLike(["a"], in: music)
        #expect(Set(found.map(\.name)) == ["d/b", "c"])
        let other = try #require(found.first { $0.name == "d/b" })
        #expect(other.global?.version == version((bob, 9)) && other.holders == [bob] && other.local == nil)
        #expect(other.global?.blocksHash == FileInfo.blocksHash(of: mine.blocks))
        #expect(try await index.store.filesLike(["a"], in: music, limit: 1).count == 1)
        #expect(try await index.store.filesLike(["d/b", "none"], in: music).isEmpty, "nothing of them is here")
        #expect(try await index.store.filesLike([], in: music).isEmpty)
    }
}
