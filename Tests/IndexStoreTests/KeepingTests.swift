import BlockExchange
import Cryptography
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct KeepingTests {
    private static let content = KeepContent(
        version: version((alice, 1)), kind: .file, size: 10, digest: SHA256.digest([1]))

    private func row(_ device: DeviceID, _ standing: Int64, isGiven: Bool = false) -> KeepRow {
        KeepRow(device: device, isGiven: isGiven, standing: standing, content: Self.content)
    }

    private func set(_ rows: [KeepRow], of name: String, _ store: IndexStore) async throws {
        try await store.changeKeepRows(in: music, names: [name]) { _, _, all in
            all = rows
            return false
        }
    }

    @Test func notesAreReadAsTheyWereWritten() async throws {
        let index = try await TestIndex()
        try await index.announce([file("d/a", version((alice, 1)))], by: alice)
        let rows = [
            row(alice, 2), row(alice, 0, isGiven: true),
            KeepRow(
                device: bob, isGiven: false, standing: 5,
                content: KeepContent(
                    version: version((alice, 2), (bob, .max)), kind: .directory, size: 0, digest: nil)),
        ].sorted { ($0.device, $0.isGiven ? 1 : 0) < ($1.device, $1.isGiven ? 1 : 0) }
        try await index.store.changeKeepRows(in: music, names: ["d/a", "d/none"]) { position, facts, all in
            #expect(all.isEmpty)
            #expect(facts.holders == (position == 0 ? [alice] : []))
            if position == 0 { all = rows }
            return false
        }
        #expect(try await index.store.keepRows(in: music, names: ["d/none", "d/a"]) == [[], rows])
        try await set([], of: "d/a", index.store)
        #expect(try await index.store.keepRows(in: music, names: ["d/a"]) == [[]])
    }

    @Test func aStartMakesNotesDoubtful() async throws {
        let directory = try TemporaryDirectory()
        var store = try IndexStore.open(path: directory.index)
        try await store.addFolder(music, newIndexID: IndexID(rawValue: 1))
        for standing in 1...7 as ClosedRange<Int64> {
            try await set([row(alice, standing), row(alice, 0, isGiven: true)], of: "\(standing)", store)
        }
        for _ in 0..<2 {
            try store.close()
            store = try IndexStore.open(path: directory.index)
            let rows = try await store.keepRows(in: music, names: (1...7).map(String.init))
            #expect(rows.map { $0.filter { !$0.isGiven }.map(\.standing) } == [[4], [3], [3], [4], [], [], []])
            #expect(rows.allSatisfy { $0.contains { $0.isGiven } })
        }
        #expect(
            try await store.keepNames(
                in: music, device: alice, isGiven: false, standings: [3, 4], after: "1", limit: 2) == ["2", "3"])
        #expect(
            try await store.keepNames(in: music, device: bob, isGiven: true, standings: [0], after: "", limit: 9) == [])
        try store.close()
    }

    /// A device that states fewer promises than it gave has lost them, and none of them counts.
    @Test func aDeviceThatLostItsPromisesIsFoundOut() async throws {
        let index = try await TestIndex()
        let store = index.store
        for name in ["a", "b"] {
            try await set([row(alice, 2), row(bob, 2), row(alice, 0, isGiven: true)], of: name, store)
        }
        try await store.noteHeardPromises(5, of: alice, in: music)
        try await store.noteHeardPromises(3, of: alice, in: music)
        #expect(try await store.noteStatement(mode: 2, promiseCount: 5, of: alice, in: music) == false)
        #expect(try await store.noteStatement(mode: 2, promiseCount: 7, of: alice, in: music) == false)
        #expect(try await store.keepRows(in: music, names: ["a"])[0].count == 3)
        #expect(try await store.noteStatement(mode: 1, promiseCount: 6, of: alice, in: music))
        for rows in try await store.keepRows(in: music, names: ["a", "b"]) {
            #expect(rows.filter { !$0.isGiven }.map(\.device) == [bob])
            #expect(rows.filter(\.isGiven).map(\.device) == [alice])
        }
        #expect(try await store.modes(in: music)[alice] == 1)
        #expect(try await store.noteStatement(mode: 1, promiseCount: 6, of: alice, in: music) == false, "from now on")
    }

    @Test func promisesAreCounted() async throws {
        let index = try await TestIndex()
        let store = index.store
        #expect(try await store.promiseCount(for: alice, in: music) == 0)
        for (expected, isGiven) in [(1, true), (1, false), (2, true)] as [(Int64, Bool)] {
            let count = try await store.changeKeepRows(in: music, names: ["a", "b"], for: alice) { _, _, _ in isGiven }
            #expect(count == expected)
        }
        #expect(try await store.promiseCount(for: bob, in: music) == 0)
    }

    @Test func whoHasHeardOfTheModeIsKnown() async throws {
        let index = try await TestIndex()
        let store = index.store
        let new = try await store.noteOwnMode(2, in: music, at: 100)
        #expect(new == .init(mode: 2, since: nil, told: []), "nobody can have heard anything else")
        #expect(try await store.noteOwnMode(1, in: music, at: 200) == .init(mode: 1, since: 200, told: []))
        try await store.noteTold(alice, mode: 1, in: music)
        try await index.announce([file("a", version((alice, 1)))], by: alice)
        #expect(try await store.noteOwnMode(1, in: music, at: 250).told == [alice])
        #expect(try await store.noteOwnMode(2, in: music, at: 300) == .init(mode: 2, since: 300, told: []))
        try await store.noteTold(alice, mode: 1, in: music)
        #expect(try await store.noteOwnMode(2, in: music, at: 400) == .init(mode: 2, since: 300, told: []))
        try await store.noteTold(alice, mode: 2, in: music)
        #expect(try await store.noteOwnMode(2, in: music, at: 400) == .init(mode: 2, since: 300, told: [alice]))
    }

    /// An index from before modes were noted may have told anybody anything.
    @Test func anOldIndexIsNotNew() async throws {
        let index = try await TestIndex()
        try await index.announce([file("a", version((alice, 1)))], by: alice)
        #expect(try await index.store.noteOwnMode(2, in: music, at: 100).since == 100)
    }

    @Test func whatIsRemovedIsForgotten() async throws {
        let index = try await TestIndex()
        let store = index.store
        try await set([row(alice, 2), row(bob, 2)], of: "a", store)
        try await store.noteHeardPromises(5, of: alice, in: music)
        try await store.dropDevice(alice, in: music)
        #expect(try await store.keepRows(in: music, names: ["a"])[0].map(\.device) == [bob])
        #expect(try await store.noteStatement(mode: 1, promiseCount: 0, of: alice, in: music) == false)
        try await store.removeFolder(music)
        try await store.addFolder(music, newIndexID: IndexID(rawValue: 9))
        #expect(try await store.keepRows(in: music, names: ["a"]) == [[]])
    }
}
