import BlockExchange
import Testing

@testable import IndexStore

/// A folder is removed in many transactions: what lies between two of them.
@Suite struct FolderRemovalTests {
    private static let other = FolderID("other")
    private static let status = FileStatus(inode: 42, changedSeconds: 1_700_000_000, changedNanoseconds: 7)

    private static func count(_ table: String, _ store: IndexStore) async throws -> Int64? {
        try await store.read { try RawStatement($0, "SELECT count(*) FROM \(table)").first { $0.integer(0) } }
    }

    /// `music` and `other` with the same file, of two blocks, on this disk and with a device.
    private static func index() async throws -> TestIndex {
        let index = try await TestIndex()
        try await index.store.addFolder(other, newIndexID: IndexID(rawValue: 2))
        let shared = file(
            "d/shared", version((alice, 1)), blocks: [(size: 1 << 17, content: 1), (size: 5, content: 2)])
        for folder in [music, other] {
            try await index.store.applyIndex(of: folder, device: alice, files: [shared], replacesAll: false) { _ in
                false
            }
            try await index.store.applyLocal(in: folder, [.set(LocalEntry(file: shared, status: status))]) { _ in false
            }
        }
        return index
    }

    @Test func oneTransactionRemovesSoMuchAndNoMore() async throws {
        let index = try await Self.index()
        let names = (0..<FolderRemoval.rowLimit * 2).map { "d\($0 % 7)/\($0)" }
        try await index.announce(names.map { file($0, version((alice, 1)), size: 1) }, by: alice)
        let before = try #require(try await Self.count("entry", index.store))
        try await index.store.beginRemoval(of: music)
        #expect(try await Self.count("entry", index.store) == before)
        try await index.store.write { try FolderRemoval.next($0)?.removeSome($0) }
        let left = try #require(try await Self.count("entry", index.store))
        #expect(left < before && left >= before - Int64(FolderRemoval.rowLimit))
        // What is left hangs on the root, and nothing of the other folder has gone.
        #expect(
            try await index.store.read {
                try RawStatement(
                    $0,
                    """
                    SELECT count(*) FROM entry
                    WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM entry)
                    """
                ).first { $0.integer(0) }
            } == 0)
        #expect(try await index.store.global(Self.other, "d/shared")?.holders == [alice])
        try await index.store.finishRemovals()
        #expect(try await Self.count("entry", index.store) == 3)
        #expect(try await Self.count("removal", index.store) == 0)
    }

    @Test func aFolderThatIsAddedAgainMeanwhileIsNew() async throws {
        let index = try await Self.index()
        let store = index.store
        try await store.beginRemoval(of: music)
        #expect(try await store.folders().map(\.folder) == [Self.other])
        #expect(try await store.search("shared").entries.map(\.folder) == [Self.other])
        #expect(try await store.localBlocks(hash(1), in: Self.other, or: [music]).map(\.folder) == [Self.other])

        try await store.addFolder(music, newIndexID: IndexID(rawValue: 9))
        #expect(try await store.localIndex(of: music) == .init(indexID: IndexID(rawValue: 9), maxSequence: 0))
        #expect(try await store.remoteIndex(of: music, device: alice) == nil)
        #expect(try await store.children(music) == [])
        try await index.announce([file("d/new", version((alice, 2)))], by: alice)

        try await store.finishRemovals()
        #expect(try await store.global(music, "d/new")?.holders == [alice])
        #expect(try await store.global(music, "d/shared") == nil)
        #expect(try await store.global(Self.other, "d/shared")?.holders == [alice])
        #expect(try await store.localBlocks(hash(2), in: Self.other, or: [music]).map(\.folder) == [Self.other])
        #expect(try await Self.count("folder", store) == 2)
        // Each of the two announces what it has to; nothing of the one that went is left.
        #expect(try await Self.count("announcer", store) == 2)
        #expect(try await Self.count("local", store) == 1)
        #expect(try await Self.count("localBlock", store) == 2)
        #expect(try await Self.count("blockList", store) == 1)
    }

    @Test func whatWasBegunIsFinishedWithTheNextFolder() async throws {
        let index = try await Self.index()
        try await index.store.beginRemoval(of: music)
        try await index.store.removeFolder(Self.other)
        for table in [
            "folder", "removal", "entry", "announced", "local", "localBlock", "own", "announcer", "blockList",
        ] {
            #expect(try await Self.count(table, index.store) == 0, "\(table)")
        }
    }
}
