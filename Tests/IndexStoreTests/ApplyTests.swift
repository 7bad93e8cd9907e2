import BlockExchange
import Testing

@testable import IndexStore

@Suite struct ApplyTests {
    @Test func resultTellsWhatChanged() async throws {
        let index = try await TestIndex()
        let first = try await index.announce(
            [file("a", version((alice, 1)), sequence: 8), file("b", version((alice, 1)), sequence: 9)], by: alice,
            ignoring: ["a"])
        #expect(first.applied == 2 && first.changed == ["a", "b"] && first.changedCount == 2)
        #expect(first.remoteSequence == 9 && first.localSequence == 1)
        // The same again, and from another, changes nothing and has nothing to announce.
        let again = try await index.announce([file("a", version((alice, 1)), sequence: 10)], by: alice, ignoring: ["a"])
        #expect(again.changedCount == 0 && again.remoteSequence == 10 && again.localSequence == 1)
        let other = try await index.announce([file("a", version((alice, 1)), sequence: 3)], by: bob, ignoring: ["a"])
        #expect(other.changedCount == 0 && other.remoteSequence == 3 && other.localSequence == 1)
        let newer = try await index.announce([file("a", version((bob, 1), (alice, 1)))], by: bob, ignoring: ["a"])
        #expect(newer.changed == ["a"] && newer.localSequence == 2)
    }

    @Test func changedNamesAreBounded() async throws {
        let index = try await TestIndex()
        let many = (0..<ApplyResult.changedLimit + 5).map { file("\($0)", version((alice, 1))) }
        let result = try await index.announce(many, by: alice)
        #expect(result.changedCount == many.count && result.changed.count == ApplyResult.changedLimit)
    }

    @Test func lastOfARepeatedNameStays() async throws {
        let index = try await TestIndex()
        try await index.announce(
            [file("a", version((alice, 1)), size: 1), file("a", version((alice, 2)), size: 2)], by: alice,
            ignoring: ["a"])
        #expect(try await index.store.global(music, "a")?.file?.size == 2)
        let updates = try await index.store.localUpdates(of: music, after: 0, limit: 9)
        #expect(updates.map(\.version) == [version((alice, 2))])
    }

    /// The holder of the winning version takes it back: the next best of the others wins.
    @Test func worsenedWinnerGivesWay() async throws {
        let index = try await TestIndex()
        try await index.announce([file("a", version((alice, 3)), size: 3)], by: alice)
        try await index.announce([file("a", version((alice, 2)), size: 2)], by: bob)
        try await index.announce([file("a", version((alice, 1)), size: 1)], by: carol)
        #expect(try await index.store.global(music, "a")?.holders == [alice])
        try await index.announce([file("a", version((alice, 3))).asInvalid], by: alice)
        let entry = try await index.store.global(music, "a")
        #expect(entry?.file?.size == 2 && entry?.holders == [bob])
        #expect(try await index.store.totals(of: music).global == Aggregate(files: 1, bytes: 2))
    }

    @Test func fullIndexReplaces() async throws {
        let index = try await TestIndex()
        try await index.store.setRemoteIndex(of: music, device: alice, to: IndexID(rawValue: 5))
        try await index.announce(
            [file("a", version((alice, 1)), sequence: 30), file("d/b", version((alice, 1)), sequence: 31)], by: alice)
        try await index.announce([file("a", version((alice, 1)))], by: bob)
        let result = try await index.announce(
            [file("c", version((alice, 1)), sequence: 2)], by: alice, replacesAll: true)
        #expect(result.remoteSequence == 2)
        #expect(
            try await index.store.remoteIndex(of: music, device: alice)
                == .init(indexID: IndexID(rawValue: 5), maxSequence: 2))
        let names = try await index.store.descendants(music, limit: 10).map(\.path)
        #expect(names == ["a", "c"])
        #expect(try await index.store.global(music, "a")?.holders == [bob])
        #expect(try await index.store.global(music, "d") == nil)
    }

    @Test func newIndexIDDropsAndTheSameDoesNot() async throws {
        let index = try await TestIndex()
        let store = index.store
        #expect(try await store.remoteIndex(of: music, device: alice) == nil)
        try await store.setRemoteIndex(of: music, device: alice, to: IndexID(rawValue: 5))
        try await index.announce([file("a/b", version((alice, 1)), sequence: 3)], by: alice, ignoring: ["a/b"])
        try await store.setRemoteIndex(of: music, device: alice, to: IndexID(rawValue: 5))
        #expect(try await store.remoteIndex(of: music, device: alice)?.maxSequence == 3)
        #expect(try await store.children(music).count == 1)
        try await store.setRemoteIndex(of: music, device: alice, to: IndexID(rawValue: 6))
        #expect(
            try await store.remoteIndex(of: music, device: alice)
                == .init(indexID: IndexID(rawValue: 6), maxSequence: 0))
        #expect(try await store.children(music) == [])
        #expect(try await store.totals(of: music) == FolderTotals())
        #expect(try await store.localUpdates(of: music, after: 0, limit: 9) == [])
        // No id: nothing is known, everything is dropped.
        try await index.announce([file("a", version((alice, 1)))], by: alice)
        try await store.setRemoteIndex(of: music, device: alice, to: .none)
        #expect(try await store.remoteIndex(of: music, device: alice) == nil)
        #expect(try await store.children(music) == [])
    }

    /// More than one transaction's worth.
    /// An index that came before its id is kept when the id comes, and is dropped for another one.
    @Test func indexCanBeNamedAfterItCame() async throws {
        let index = try await TestIndex()
        let store = index.store
        try await store.applyIndex(
            of: music, device: alice, files: [file("a", version((alice, 1)), sequence: 7)], replacesAll: true
        ) { _ in false }
        #expect(try await store.remoteIndex(of: music, device: alice) == nil)
        let id = IndexID(rawValue: 5)
        try await store.nameRemoteIndex(of: music, device: alice, as: id)
        #expect(try await store.remoteIndex(of: music, device: alice) == .init(indexID: id, maxSequence: 7))
        try await store.setRemoteIndex(of: music, device: alice, to: id)
        #expect(try await store.global(music, "a") != nil)
        try await store.setRemoteIndex(of: music, device: alice, to: IndexID(rawValue: 6))
        #expect(try await store.global(music, "a") == nil)
    }

    @Test func dropsManyAnnouncements() async throws {
        let index = try await TestIndex()
        let names = (0..<12_000).map { "d\($0 % 7)/\($0)" }
        try await index.announce(names.map { file($0, version((alice, 1)), size: 1) }, by: alice)
        try await index.announce(names.prefix(3).map { file($0, version((alice, 1)), size: 1) }, by: bob)
        try await index.store.dropDevice(alice)
        #expect(try await index.store.totals(of: music).global == Aggregate(files: 3, bytes: 3))
        #expect(try await index.store.descendants(music, limit: 100).count == 6)
    }

    @Test func foldersWithEqualNamesStayApart() async throws {
        let index = try await TestIndex()
        let store = index.store
        let other = FolderID("other")
        try await store.addFolder(other, newIndexID: IndexID(rawValue: 2), label: "Other")
        try await index.announce([file("d/a", version((alice, 1)), size: 1)], by: alice, ignoring: ["d/a"])
        try await store.applyIndex(
            of: other, device: alice, files: [file("d/a", version((alice, 2)), size: 2)], replacesAll: false
        ) { _ in true }
        #expect(try await store.global(music, "d/a")?.file?.size == 1)
        #expect(try await store.global(other, "d/a")?.file?.size == 2)
        #expect(try await store.localIndex(of: other) == .init(indexID: IndexID(rawValue: 2), maxSequence: 1))
        #expect(try await store.search("A").entries.map(\.folder) == [music, other])
        #expect(try await store.search("d/a").entries.map(\.folder) == [music, other])
        #expect(try await store.search("a", in: other).entries.map(\.folder) == [other])
        #expect(try await store.folders().map(\.label) == ["", "Other"])

        try await store.removeFolder(music)
        #expect(try await store.folders().map(\.folder) == [other])
        #expect(try await store.search("a").entries.map(\.folder) == [other])
        #expect(try await store.global(other, "d/a")?.file?.size == 2)
        #expect(await indexError { _ = try await store.children(music) }?.code == .noSuchFolder)
        try await store.addFolder(music, newIndexID: IndexID(rawValue: 3))
        #expect(try await store.children(music) == [])
    }

    @Test func removedFolderLeavesNothing() async throws {
        let index = try await TestIndex()
        let blocks = (0..<2).map { BlockInfo(offset: Int64($0) << 17, size: 1 << 17, hash: hash(UInt64($0))) }
        let big = FileInfo(
            name: "d/big", size: 2 << 17, version: version((alice, 1)), blockSize: 1 << 17, blocks: blocks)
        try await index.announce([big, file("a", version((alice, 1)))], by: alice, ignoring: ["a"])
        let status = FileStatus(inode: 1, changedSeconds: 2, changedNanoseconds: 3)
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: big, status: status))]) { _ in false }
        try await index.store.removeFolder(music)
        for table in [
            "entry", "announced", "own", "aggregate", "blockList", "blockListData", "local", "localBlock", "announcer",
            "folder", "removal",
        ] {
            let count = try await index.store.read { database in
                try RawStatement(database, "SELECT count(*) FROM \(table)").first { $0.integer(0) }
            }
            #expect(count == 0, "\(table)")
        }
    }

    /// Every byte that a name may hold, and names that are equal to Swift's `==` but not to a file system.
    @Test func namesAreBytes() async throws {
        let index = try await TestIndex()
        var names = (1...127).filter { $0 != 47 }.map { "x" + String(UnicodeScalar(UInt8($0))) + "y" }
        names += [
            "\u{E9}", "e\u{301}", "\u{0}", "\u{10FFFF}", "\u{FEFF}bom", " ", "'; DROP TABLE entry; --", "%_*?[a]",
        ]
        let files = names.enumerated().map { file("dir \u{1}\($1)/\($1)", version((alice, 1)), size: Int64($0) + 1) }
        try await index.announce(files, by: alice)
        for file in files {
            #expect(try await index.store.global(music, file.name)?.file?.size == file.size)
        }
        let listed = try await index.store.descendants(music, limit: 10_000)
        #expect(listed.count == 2 * files.count)
        let order = listed.map { Array($0.path.utf8).split(separator: 47).map(Array.init) }
        #expect(
            zip(order, order.dropFirst()).allSatisfy { left, right in
                left.lexicographicallyPrecedes(right) { $0.lexicographicallyPrecedes($1) }
            })
    }

    @Test func longAndDeepPaths() async throws {
        let index = try await TestIndex()
        let deep = Array(repeating: "d", count: 2048).joined(separator: "/") + "x"
        let long = String(repeating: "\u{10FFFF}", count: 1024)
        #expect(deep.utf8.count == 4096 && long.utf8.count == 4096)
        try await index.announce(
            [file(deep, version((alice, 1)), size: 7), file(long, version((alice, 1)))], by: alice)
        #expect(try await index.store.global(music, deep)?.file?.size == 7)
        #expect(try await index.store.global(music, long)?.isPresent == true)
        #expect(try await index.store.descendants(music, limit: 10_000).count == 2049)
        #expect(try await index.store.totals(of: music).global == Aggregate(files: 2, bytes: 17))
        try await index.store.dropDevice(alice)
        #expect(try await index.store.descendants(music, limit: 10).isEmpty)
        #expect(try await index.store.global(music, "d") == nil)
    }

    /// Sizes that no disk has wrap the sums and are taken back without a trace.
    @Test func absurdSizesDoNotTrap() async throws {
        let index = try await TestIndex()
        let huge = ["a", "b", "c"].map { name in
            FileInfo(name: "d/" + name, size: .max, version: version((alice, 1)))
        }
        try await index.announce(huge, by: alice)
        #expect(try await index.store.totals(of: music).global.files == 3)
        try await index.announce(huge.map { deleted($0.name, version((alice, 2))) }, by: alice)
        #expect(try await index.store.totals(of: music).global == .zero)
    }
}
