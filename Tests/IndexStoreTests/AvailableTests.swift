import BlockExchange
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
        #expect(try await store.isAvailable(music, below: "d", isSelected: true, on: [alice]) == true)
        #expect(try await store.isAvailable(music, below: "d", isSelected: true, on: [bob]) == false)
        #expect(try await store.isAvailable(music, below: "", isSelected: true, on: []) == false)
        // What is here needs nobody.
        let local = LocalEntry(
            file: file("d/one", version((alice, 1))),
            status: FileStatus(inode: 1, changedSeconds: 1, changedNanoseconds: 0))
        try await store.applyLocal(in: music, [.set(local)]) { $0 == "d/two" }
        #expect(try await store.isAvailable(music, below: "d", isSelected: true, on: [alice]) == false)
        #expect(try await store.isAvailable(music, below: "d", isSelected: false, on: [alice]) == true)
    }

    @Test func manyNamesThatNobodyHasAreGivenUp() async throws {
        let index = try await TestIndex()
        let files = (0..<600).map { file("d/\($0)", version((alice, 1))) }
        try await index.announce(files, by: alice, replacesAll: false, ignoring: [])
        #expect(try await index.store.isAvailable(music, below: "d", isSelected: true, on: [bob]) == nil)
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
        try await index.store.forgetFetched(["d/x"], in: music)
        try index.store.close()
        let again = try IndexStore.open(path: index.directory.index)
        #expect(try await again.fetched(in: music, limit: 9).map(\.name) == ["a", "d", "d/y", "d0", "é"])
    }
}
