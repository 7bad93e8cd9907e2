import BlockExchange
import Testing

@testable import IndexStore

@Suite struct ScrubbingTests {
    private static func damaged(_ name: String, inode: UInt64 = 7, of file: FileInfo) throws -> DamagedFile {
        DamagedFile(
            name: name, inode: inode, expected: try #require(FileInfo.blocksHash(of: file.blocks)), found: hash(9),
            wrongBlocks: 1, blocks: 1, noticed: 1_700_000_000)
    }

    private static func entry(_ file: FileInfo, inode: UInt64 = 7) -> LocalEntry {
        LocalEntry(file: file, status: FileStatus(inode: inode, changedSeconds: 5, changedNanoseconds: 6))
    }

    private func apply(_ changes: [LocalChange], in store: IndexStore) async throws {
        _ = try await store.applyLocal(in: music, changes, isIgnored: { _ in false })
    }

    @Test func aFileIsDamagedUntilItIsReplacedEditedOrRemoved() async throws {
        let index = try await TestIndex()
        let files = ["a", "b", "c", "d", "e"].map { file($0, version((alice, 1)), content: 1) }
        try await apply(files.map { .set(Self.entry($0)) }, in: index.store)
        var all: [DamagedFile] = []
        for file in files {
            var damaged = try Self.damaged(file.name, of: file)
            if file.name == "e" { damaged.found = nil }
            try await index.store.noteDamaged(damaged, in: music)
            all.append(damaged)
        }
        #expect(try await index.store.damagedFiles(in: music).current == all)
        try index.store.close()
        let store = try IndexStore.open(path: index.directory.index)
        #expect(try await store.damagedFiles(in: music).current == all)

        // Replaced, edited, removed; the last two are what they were, one of them with other permissions.
        var permitted = file("d", version((alice, 2)), content: 1)
        permitted.permissions = 0o600
        try await apply(
            [
                .set(Self.entry(files[0], inode: 8)), .set(Self.entry(file("b", version((alice, 2)), content: 2))),
                .forget("c"), .set(Self.entry(permitted)),
                .note("e", FileStatus(inode: 7, changedSeconds: 99, changedNanoseconds: 0)),
            ], in: store)
        let left = try await store.damagedFiles(in: music)
        #expect(left.current.map(\.name) == ["d", "e"])
        #expect(left.stale == ["a", "b", "c"])
        try await store.forgetDamaged(left.stale, in: music)
        #expect(try await store.damagedFiles(in: music).stale == [])
        try await store.renameDamaged("d", to: "a", in: music)
        #expect(try await store.damagedFiles(in: music).stale == ["a"], "what is at the new name is another file")

        try await store.removeFolder(music)
        try await store.addFolder(music, newIndexID: IndexID(rawValue: 7))
        #expect(try await store.damagedFiles(in: music).current == [])
    }

    @Test func soManyDamagedFilesAreRememberedAndNoMore() async throws {
        let index = try await TestIndex()
        let files = (0...IndexStore.damagedLimit).map { file("file \($0)", version((alice, 1)), content: 1) }
        try await apply(files.map { .set(Self.entry($0)) }, in: index.store)
        for file in files { try await index.store.noteDamaged(try Self.damaged(file.name, of: file), in: music) }
        let known = try await index.store.damagedFiles(in: music).current
        #expect(known.count == IndexStore.damagedLimit)
        // What is known can be noted again.
        var again = known[3]
        again.wrongBlocks = 5
        try await index.store.noteDamaged(again, in: music)
        #expect(try await index.store.damagedFiles(in: music).current[3] == again)
    }

    @Test func howFarAScrubIsOutlivesARestart() async throws {
        let index = try await TestIndex()
        #expect(try await index.store.scrubUnderWay(in: music, below: "") == nil)
        var tally = ScrubTally(begun: 10)
        try await index.store.noteScrub(tally, below: "", in: music)
        (tally.updated, tally.position, tally.files, tally.bytes, tally.damaged) = (20, "d/é", 3, 1 << 40, 1)
        try await index.store.noteScrub(tally, below: "", in: music)
        var part = ScrubTally(begun: 30)
        part.position = "x/1"
        try await index.store.noteScrub(part, below: "x", in: music)
        try await index.store.noteScrub(part, below: "y", in: music)
        try index.store.close()
        let store = try IndexStore.open(path: index.directory.index)
        #expect(try await store.scrubUnderWay(in: music, below: "") == tally)
        #expect(try await store.scrubUnderWay(in: music, below: "x") == nil, "only the last part is remembered")
        #expect(try await store.scrubUnderWay(in: music, below: "y") == part)
        #expect(try await store.lastScrub(in: music) == nil)

        try await store.endScrub(tally, below: "", in: music)
        #expect(try await store.scrubUnderWay(in: music, below: "") == nil)
        #expect(try await store.lastScrub(in: music) == tally)
        try await store.endScrub(part, below: "y", in: music)
        #expect(try await store.scrubUnderWay(in: music, below: "y") == nil)
        #expect(try await store.lastScrub(in: music) == tally, "a part is not the folder")
    }
}
