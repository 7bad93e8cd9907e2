import BlockExchange
import GRDB
import Testing

@testable import IndexStore

/// Rows that no version of this program writes, as a damaged disk or another program leaves them.
@Suite(.timeLimit(.minutes(3))) struct DamagedRowTests {
    private static let blocks = (0..<3).map {
        BlockInfo(offset: Int64($0) << 17, size: 1 << 17, hash: hash(UInt64($0)))
    }
    private static let large = FileInfo(
        name: "d/large", size: 3 << 17, version: version((alice, 1)), sequence: 1, blockSize: 1 << 17, blocks: blocks)

    /// What is done to an index, and what it then says.
    struct Damage: CustomTestStringConvertible {
        var sql: String
        var testDescription: String { sql }
    }

    /// All block lists become one block at a place of its own; both numbers in hexadecimal digits.
    private static func explicitBlock(offset: String, size: String) -> String {
        "UPDATE blockListData SET data = CAST(x'02' || zeroblob(32) || x'00000000\(offset)\(size)' AS BLOB)"
    }

    /// Reads and writes of all kinds end with the index's own error, and the process goes on.
    @Test(
        arguments: [
            "UPDATE folder SET sequence = 9223372036854775807", "UPDATE folder SET sequence = -5",
            "UPDATE entry SET own = 9223372036854775807 WHERE own IS NOT NULL",
            "UPDATE entry SET own = -9223372036854775808 WHERE own IS NOT NULL", "UPDATE entry SET own = 0",
            "UPDATE entry SET own = own + 1000000 WHERE own IS NOT NULL",
            "UPDATE announced SET size = -9223372036854775808", "UPDATE announced SET size = -1",
            "UPDATE announced SET size = 9223372036854775807", "UPDATE announced SET size = size - 1",
            "UPDATE announced SET flags = -1", "UPDATE announced SET flags = 9223372036854775807",
            "UPDATE announced SET flags = flags | (1099511627776 << 6)",
            "UPDATE announced SET flags = flags & 63 | 64000",
            "UPDATE announced SET nanoseconds = -1", "UPDATE announced SET nanoseconds = 2147483647",
            "UPDATE announced SET nanoseconds = 9223372036854775807", "UPDATE announced SET sequence = -1",
            "UPDATE announced SET permissions = -1", "UPDATE announced SET version = x'00'",
            "UPDATE announced SET content = 4711", "UPDATE announced SET content = x'00'",
            "UPDATE blockListData SET data = x'00'", "UPDATE blockListData SET data = x''",
            explicitBlock(offset: "8000000000000000", size: "00000005"),
            explicitBlock(offset: "7fffffffffffffff", size: "7fffffff"),
            explicitBlock(offset: "0000000000000000", size: "fffffffb"),
            explicitBlock(offset: "0000000000000000", size: "7fffffff"),
            explicitBlock(offset: "0000000000000005", size: "00000005"),
            "UPDATE announced SET size = -9223372036854775808; "
                + explicitBlock(offset: "0000000000000005", size: "00000005"),
            "UPDATE change SET number = 9223372036854775807", "UPDATE change SET number = -9223372036854775808",
            "UPDATE change SET time = -9223372036854775808, count = 9223372036854775807",
            "UPDATE aggregate SET files = 9223372036854775807, directories = 9223372036854775807, bytes = -1",
            "UPDATE entry SET parent = id WHERE name = 'd'", "UPDATE entry SET parent = id WHERE name = ''",
            "UPDATE entry SET parent = (SELECT id FROM entry WHERE name = 'd') WHERE name = ''",
            "INSERT INTO entry (id, folder, parent, name) SELECT 9223372036854775807, number, root, 'far' FROM folder",
            "INSERT INTO entry (id, folder, parent, name) SELECT 9223372036854775806, number, root, 'far' FROM folder",
            "UPDATE announcer SET maxSequence = 9223372036854775807, entries = -9223372036854775808",
            "UPDATE local SET inode = -1, changed = -9223372036854775808, changedNanoseconds = 9223372036854775807",
        ].map(Damage.init(sql:)))
    func `numbers that cannot be are an error and no trap`(damage: Damage) async throws {
        let index = try await TestIndex()
        let mine = file("d/mine", version((carol, 1)))
        try await index.announce(
            [Self.large, file("d/small", version((alice, 1))), directory("d", version((alice, 1)))], by: alice,
            ignoring: ["d/small"])
        try await set(mine, in: index)
        try await index.store.record(
            [RecordedChange(time: 1, kind: .added, name: "a", device: nil)], in: music)
        try await index.store.write { try $0.execute(sql: damage.sql) }

        let store = index.store
        let calls: [() async throws -> Void] = [
            { _ = try await store.localIndex(of: music) },
            { _ = try await store.file(music, "d/large") }, { _ = try await store.file(music, "d/small") },
            { _ = try await store.local(music, "d/mine") }, { _ = try await store.children(music, of: "d") },
            { _ = try await store.localUpdates(of: music, after: 0, limit: 100) },
            { _ = try await store.totals(of: music) }, { _ = try await store.completion(of: music) },
            { _ = try await store.needed(in: music, limit: 10, isKept: { _ in true }, mayContain: { _ in true }) },
            { _ = try await store.neededTotals(in: music, isKept: { _ in true }, mayContain: { _ in true }) },
            { _ = try await store.localEntries(in: music, flags: .ignored, limit: 10) },
            { _ = try await store.search("l") }, { _ = try await store.changes(in: music, limit: 10) },
            {
                try await store.record([RecordedChange(time: 2, kind: .added, name: "b", device: nil)], in: music)
            },
            { try await self.set(file("d/mine", version((carol, 2)), size: 20, content: 5), in: index) },
            { try await self.set(file("d/small", version((carol, 2)), size: 20, content: 5), in: index) },
            {
                try await index.announce(
                    [file("d/small", version((alice, 3)), sequence: 9), file("d/mine", version((alice, 3)))], by: alice,
                    ignoring: ["d/small", "d/mine"])
            },
            { _ = try await store.applyLocal(in: music, [.forget("d/mine")], isIgnored: { _ in true }) },
            { try await store.dropDevice(alice) },
        ]
        for call in calls {
            do { try await call() } catch { #expect((error as? IndexStoreError)?.code == .corrupt, "\(error)") }
        }
    }

    private func set(_ file: FileInfo, in index: TestIndex) async throws {
        let status = FileStatus(inode: 1, changedSeconds: 1, changedNanoseconds: 1)
        _ = try await index.store.applyLocal(
            in: music, [.set(LocalEntry(file: file, status: status))], isIgnored: { _ in false })
    }
}
