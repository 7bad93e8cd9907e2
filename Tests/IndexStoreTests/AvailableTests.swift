import BlockExchange
import GRDB
import Testing

@testable import IndexStore

/// What connected devices have of what is not here, and notes of files that were fetched.
@Suite struct AvailableTests {
    @Test func onlyAConnectedHolderCounts() async throws {
        let index = try await TestIndex()
        try await index.announce(
            [file("d/one", version((alice, 1))), file("d/two", version((alice, 1)))], by: alice, replacesAll: false,
            ignoring: ["d/two"])
        let store = index.store
        #expect(try await store.isAvailable(music, below: "d", isSelected: true, on: [alice]).isAvailable == true)
        #expect(try await store.isAvailable(music, below: "d", isSelected: true, on: [bob]).isAvailable == false)
        #expect(try await store.isAvailable(music, below: "", isSelected: true, on: []).isAvailable == false)
        // What is here needs nobody.
        let local = LocalEntry(
            file: file("d/one", version((alice, 1))),
            status: FileStatus(inode: 1, changedSeconds: 1, changedNanoseconds: 0))
        try await store.applyLocal(in: music, [.set(local)]) { $0 == "d/two" }
        #expect(try await store.isAvailable(music, below: "d", isSelected: true, on: [alice]).isAvailable == false)
        #expect(try await store.isAvailable(music, below: "d", isSelected: false, on: [alice]).isAvailable == true)
    }

    @Test func manyNamesThatNobodyHasAreGivenUp() async throws {
        let index = try await TestIndex()
        let files = (0..<600).map { file("d/\($0)", version((alice, 1))) }
        try await index.announce(files, by: alice, replacesAll: false, ignoring: [])
        #expect(try await index.store.isAvailable(music, below: "d", isSelected: true, on: [bob]).isAvailable == nil)
    }

    @Test func notesOfFetchedFilesStayUntilTheyAreTakenBack() async throws {
        let index = try await TestIndex()
        let notes = ["a", "d", "d/x", "d/y", "d0", "é"].map {
            FetchedFile(name: $0, size: 3, modifiedSeconds: 7, modifiedNanoseconds: 9)
        }
        try await index.store.noteFetched(notes, in: music)
        #expect(try await index.store.fetched(["d/x", "none"], in: music) == ["d/x": notes[2]])
        #expect(try await index.store.fetched(in: music, below: "d", limit: 9).map(\.name) == ["d/x", "d/y"])
        #expect(try await index.store.fetched(in: music, limit: 9) == notes)
        #expect(try await index.store.fetched(in: music, after: "d/y", limit: 9).map(\.name) == ["d0", "é"])
        // What was fetched anew since is another note.
        let anew = FetchedFile(name: "d/y", size: 4, modifiedSeconds: 8, modifiedNanoseconds: 9)
        try await index.store.noteFetched([anew], in: music)
        try await index.store.forgetFetched([notes[2], notes[3]], in: music)
        #expect(try await index.store.fetched(["d/x", "d/y"], in: music) == ["d/y": anew])
        try index.store.close()
        let again = try IndexStore.open(path: index.directory.index)
        #expect(try await again.fetched(in: music, limit: 9).map(\.name) == ["a", "d", "d/y", "d0", "é"])
    }

    /// However much is below them, a look at directories costs the same.
    @Test func nothingIsScannedToTellAState() async throws {
        let index = try await TestIndex()
        let plans = try await index.store.read { database in
            try [
                "SELECT \(AggregateSums.columns) FROM aggregate WHERE entry = 1",
                "SELECT \(LocalEntry.columns) FROM local WHERE entry = 1",
                "SELECT winner, own FROM entry WHERE id = 1",
                "SELECT name FROM fetched WHERE folder = 1 AND name = 'a'",
                "SELECT name FROM fetched WHERE folder = 1 AND name > 'a/' AND name < 'a0' ORDER BY name LIMIT 1",
            ].map { try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + $0).map { $0["detail"] as String } }
        }
        for plan in plans { #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH "), "\(plan)") }
    }
}
