import BlockExchange
import Synchronization
import Testing

@testable import IndexStore

@Suite struct NeedTests {
    static let status = FileStatus(inode: 42, changedSeconds: 1_700_000_000, changedNanoseconds: 7)
    static let one = version((alice, 1))
    static let two = version((alice, 2))

    private static func needed(_ index: TestIndex) async throws -> [NeededEntry] {
        try await index.store.needed(in: music, limit: 100, isKept: { _ in true }, mayContain: { _ in true }).entries
    }

    /// What others announce, what this device has, and whether it needs the name.
    static let table: [(String, FileInfo, LocalEntry?, Bool)] = [
        ("not here", file("f", one), nil, true),
        ("an older one is here", file("f", two), LocalEntry(file: file("f", one), status: status), true),
        ("the same is here", file("f", one), LocalEntry(file: file("f", one), status: status), false),
        ("a later one is here", file("f", one), LocalEntry(file: file("f", two), status: status), false),
        (
            "the same, to be scanned", file("f", one),
            LocalEntry(file: file("f", one), flags: .mustRescan, status: status), true
        ),
        (
            "changed here where nothing is sent", file("f", one),
            LocalEntry(file: file("f", two), flags: .receiveOnlyChanged, status: status), true
        ),
        ("nobody vouches for it", file("f", one).asInvalid, nil, false),
        ("a version nobody counted up", file("f", VersionVector()), nil, false),
        (
            "the same here, also without a version: it is to get one", file("f", VersionVector()),
            LocalEntry(file: file("f", VersionVector()), status: status), true
        ),
        (
            "the same, left out", file("f", VersionVector()),
            LocalEntry(file: file("f", VersionVector()), flags: .ignored, status: status), false
        ),
        ("a directory", directory("f", one), nil, true),
        ("deleted, never here", deleted("f", one), nil, false),
        ("deleted, still here", deleted("f", two), LocalEntry(file: file("f", one), status: status), true),
        ("deleted here too, before", deleted("f", two), LocalEntry(file: deleted("f", one)), true),
        ("deleted here too", deleted("f", one), LocalEntry(file: deleted("f", one)), false),
        ("deleted here, since", file("f", one), LocalEntry(file: deleted("f", two)), false),
    ]

    @Test(arguments: table.indices) func isNeeded(_ number: Int) async throws {
        let (label, announced, local, expected) = Self.table[number]
        let index = try await TestIndex()
        try await index.announce([announced], by: alice)
        if let local { try await index.store.applyLocal(in: music, [.set(local)]) { _ in false } }
        let found = try await Self.needed(index)
        #expect(found.map(\.path) == (expected ? ["f"] : []), "\(label)")
        #expect(try await index.store.needed(in: music, names: ["f"]) { _ in true } == found)
        #expect(try await index.store.needed(in: music, names: ["f"]) { _ in false } == [])
        guard let found = found.first else { return }
        #expect(found.holders == [alice] && found.file.version == announced.version)
        #expect(found.local?.flags == local?.flags && found.local?.status == local?.status)
        #expect(found.local?.file.sequence == (local == nil ? nil : 1))
    }

    @Test func whatOnlyThisDeviceHasIsNeededUntilItHasAVersion() async throws {
        let index = try await TestIndex()
        for (version, isNeeded) in [(VersionVector(), true), (Self.one, false)] {
            let local = LocalEntry(file: file("f", version), status: Self.status)
            try await index.store.applyLocal(in: music, [.set(local)]) { _ in false }
            #expect(try await Self.needed(index).map(\.path) == (isNeeded ? ["f"] : []))
            // It is here: nothing is to come.
            let totals = try await index.store.neededTotals(in: music, isKept: { _ in true }, mayContain: { _ in true })
            #expect(totals == NeededTotals())
            #expect(NeededTotals(try await Self.needed(index)) == NeededTotals())
        }
    }

    /// Two lists of the same blocks are the same content though one has weak hashes and the other none.
    @Test func contentIsComparedByHashesAlone() async throws {
        let index = try await TestIndex()
        func big(_ version: VersionVector, weakHash: UInt32, last: UInt64) -> FileInfo {
            let blocks = (0..<3).map { number in
                BlockInfo(
                    offset: Int64(number) << 17, size: 1 << 17, hash: hash(number == 2 ? last : UInt64(number)),
                    weakHash: weakHash)
            }
            return FileInfo(name: "f", size: 3 << 17, version: version, blockSize: 1 << 17, blocks: blocks)
        }
        let mine = big(Self.one, weakHash: 0, last: 2)
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: mine, status: Self.status))]) { _ in false }
        try await index.announce([big(Self.two, weakHash: 7, last: 2)], by: alice)
        var found = try await Self.needed(index)
        #expect(found.first?.hasSameContent == true)
        #expect(found.first?.file.blocksHash == FileInfo.blocksHash(of: mine.blocks) && found.first?.file.blocks == [])
        try await index.announce([big(Self.two, weakHash: 7, last: 9)], by: alice)
        found = try await Self.needed(index)
        #expect(found.first?.hasSameContent == false)
        // Laid out in no regular way, the hashes are still what counts.
        var odd = big(Self.two, weakHash: 0, last: 2)
        odd.blocks[2].size = 5
        odd.size -= (1 << 17) - 5
        odd.blocks[1].offset = 1
        try await index.announce([odd], by: alice)
        found = try await Self.needed(index)
        #expect(found.first?.file.blocksHash == FileInfo.blocksHash(of: mine.blocks))
    }

    @Test func onlySelectedBranchesAreOpened() async throws {
        let index = try await TestIndex()
        let all = (0..<30).flatMap { outer in (0..<4).map { "d\(outer)/e\($0)/f" } }
        try await index.announce(all.map { file($0, Self.one) }, by: alice)
        let asked = Mutex<[String]>([])
        func page(after: String?) async throws -> IndexPage<NeededEntry> {
            try await index.store.needed(
                in: music, after: after, limit: 1,
                isKept: { name in
                    asked.withLock { $0.append(name) }
                    return name.hasPrefix("d7/e2/") || name == "d9/e1"
                },
                mayContain: { ["", "d7", "d7/e2", "d9"].contains($0) })
        }
        var found: [String] = []
        var after: String?
        repeat {
            let page = try await page(after: after)
            found += page.entries.map(\.path)
            after = page.next
        } while after != nil
        #expect(found == ["d7/e2/f"])
        // The thirty at the top, four each in d7 and d9, one in d7/e2.
        let names = Set(asked.withLock { $0 })
        #expect(names.count == 39)
    }

    /// Where nothing is needed a page ends too, so that no transaction goes on for long.
    @Test func pagesEndBeforeTheyAreFull() async throws {
        let index = try await TestIndex()
        let names = (0..<IndexStore.lookLimit + 10).map { "d/\($0)" }
        for start in stride(from: 0, to: names.count, by: 5000) {
            let batch = names[start..<min(start + 5000, names.count)]
            try await index.announce(batch.map { deleted($0, Self.one) }, by: alice)
        }
        try await index.announce([file("e", Self.one)], by: alice)
        let first = try await index.store.needed(
            in: music, limit: 10, isKept: { _ in true }, mayContain: { _ in true })
        #expect(first.entries == [] && first.next != nil)
        let second = try await index.store.needed(
            in: music, after: first.next, limit: 10, isKept: { _ in true }, mayContain: { _ in true })
        #expect(second.entries.map(\.path) == ["e"] && second.next == nil)
        let totals = try await index.store.neededTotals(in: music, isKept: { _ in true }, mayContain: { _ in true })
        #expect(totals == NeededTotals(items: Aggregate(files: 1, bytes: 10)))
    }

    @Test func totalsLeaveOutWhatIsChangedHereForGood() async throws {
        let index = try await TestIndex()
        let names = ["a", "b", "c", "d", "e"]
        try await index.announce(
            names.map { $0 == "d" || $0 == "e" ? deleted($0, Self.two) : file($0, Self.two) }, by: alice)
        try await index.store.applyLocal(
            in: music,
            [
                .set(
                    LocalEntry(
                        file: file("a", version((alice, 2), (bob, 1))), flags: .receiveOnlyChanged, status: Self.status)
                ),
                .set(
                    LocalEntry(
                        file: file("b", version((alice, 1), (bob, 1))), flags: .receiveOnlyChanged, status: Self.status)
                ),
                .set(LocalEntry(file: file("d", Self.one), status: Self.status)),
                .set(LocalEntry(file: deleted("e", Self.one))),
            ]
        ) { _ in false }
        #expect(try await Self.needed(index).map(\.path) == names)
        let totals = try await index.store.neededTotals(in: music, isKept: { _ in true }, mayContain: { _ in true })
        #expect(totals == NeededTotals(items: Aggregate(files: 2, bytes: 20), deletions: 1))
    }
}

@Suite struct LocalReadingTests {
    static let status = NeedTests.status
    static let one = NeedTests.one

    private static func index(_ files: [FileInfo]) async throws -> TestIndex {
        let index = try await TestIndex()
        try await index.store.applyLocal(in: music, files.map { .set(LocalEntry(file: $0, status: status)) }) { _ in
            false
        }
        return index
    }

    @Test func childrenAreSortedByBytes() async throws {
        let names = ["d/Z", "d/a", "d/é", "d/z", "d/a/below", "d.x", "d/\u{10FFFF}"]
        let index = try await Self.index(names.map { file($0, Self.one) })
        let children = try await index.store.localChildren(of: music, directory: "d")
        #expect(children.map(\.file.name) == ["d/Z", "d/a", "d/z", "d/é", "d/\u{10FFFF}"])
        #expect(children.allSatisfy { $0.status == Self.status && $0.file.blocks.isEmpty && $0.file.size == 10 })
        #expect(children.map(\.file.sequence) == [1, 2, 4, 3, 7])
        #expect(try await index.store.localChildren(of: music).map(\.file.name) == ["d.x"])
        #expect(try await index.store.localChildren(of: music, directory: "nowhere") == [])
    }

    /// More children than are read at a time, in both orders, though the one the page ended with is gone.
    @Test func descendantsPageOverManyChildren() async throws {
        let names = (0..<450).map { "d/\(1000 + $0)" } + ["d/1200/x/y", "e"]
        let index = try await Self.index(names.map { file($0, Self.one) })
        let expected = names.sorted(by: precedes)
        for deepestFirst in [false, true] {
            var found: [String] = []
            var after: String?
            repeat {
                let page = try await index.store.localDescendants(
                    of: music, after: after, limit: 7, deepestFirst: deepestFirst)
                found += page.entries.map(\.path)
                after = page.next
            } while after != nil
            #expect(found == (deepestFirst ? expected.reversed() : expected))
        }
        let rest = try await index.store.localDescendants(
            of: music, below: "d", after: "d/1200/x/gone/deeper", limit: 3, deepestFirst: true)
        #expect(rest.entries.map(\.path) == ["d/1200", "d/1199", "d/1198"])
    }

    @Test func copiesAreFoundByAllBlocks() async throws {
        func big(_ name: String, _ hashes: [UInt64]) -> FileInfo {
            let blocks = hashes.enumerated().map {
                BlockInfo(offset: Int64($0.offset) << 17, size: 1 << 17, hash: hash($0.element))
            }
            return FileInfo(
                name: name, size: Int64(hashes.count) << 17, version: Self.one, blockSize: 1 << 17, blocks: blocks)
        }
        let wanted = big("new", [0, 0, 1])
        let index = try await Self.index([
            big("z", [0, 0, 1]), big("same end", [5, 0, 1]), big("shorter", [0, 1]), big("longer", [0, 0, 0, 1]),
            big("a/b", [0, 0, 1]),
        ])
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: big("not here", [0, 0, 1])))]) { _ in false }
        let found = try await index.store.localFiles(in: music, withBlocks: wanted.blocks)
        #expect(found.map(\.file.name) == ["a/b", "z"])
        #expect(found.allSatisfy { $0.file.blocksHash == FileInfo.blocksHash(of: wanted.blocks) && $0.status != nil })
        #expect(try await index.store.localFiles(in: music, withBlocks: wanted.blocks, limit: 1).count == 1)
        #expect(try await index.store.localFiles(in: music, withBlocks: []) == [])
        try await index.announce([wanted, directory("dir", Self.one)], by: alice)
        let copies = try await index.store.localCopies(of: music, names: ["dir", "new", "never"])
        #expect(copies.map { $0.map(\.file.name) } == [[], ["a/b", "z"], []])
        let other = FolderID("other")
        try await index.store.addFolder(other, newIndexID: IndexID(rawValue: 2))
        #expect(try await index.store.localFiles(in: other, withBlocks: wanted.blocks) == [])
    }

    @Test func flaggedEntriesAreOfTheirFolder() async throws {
        let index = try await TestIndex()
        let other = FolderID("other")
        try await index.store.addFolder(other, newIndexID: IndexID(rawValue: 2))
        for folder in [music, other] {
            try await index.store.applyLocal(
                in: folder,
                [
                    .set(LocalEntry(file: file("d/a", Self.one), flags: .receiveOnlyChanged, status: Self.status)),
                    .set(LocalEntry(file: deleted("d/b", Self.one), flags: .receiveOnlyChanged)),
                    .set(LocalEntry(file: file("d/c", Self.one), flags: .ignored, status: Self.status)),
                ]
            ) { _ in false }
        }
        let page = try await index.store.localEntries(in: other, flags: .receiveOnlyChanged, limit: 10)
        #expect(page.entries.map(\.file.name) == ["d/a", "d/b"] && page.next == nil)
        #expect(page.entries.map(\.file.sequence) == [1, 2] && page.entries[0].status == Self.status)
        #expect(try await index.store.countChangedHere(in: other, limit: 10) == 2)
        #expect(try await index.store.countChangedHere(in: other, limit: 1) == 1)
    }
}

/// What becomes of names that are on this disk when the selection changes.
@Suite struct ReselectionTests {
    static let status = NeedTests.status
    static let one = NeedTests.one
    static let two = NeedTests.two

    private static func updates(_ index: TestIndex, after sequence: Int64 = 0) async throws -> [FileInfo] {
        try await index.store.localUpdates(of: music, after: sequence, limit: 100)
    }

    private static func index() async throws -> TestIndex {
        let index = try await TestIndex()
        try await index.announce([file("a", one), file("back", two), file("gone", one)], by: alice)
        try await index.store.applyLocal(
            in: music,
            [
                .set(LocalEntry(file: file("a", one), status: status)),
                .set(LocalEntry(file: deleted("back", one))),
                .set(LocalEntry(file: deleted("gone", two))),
                .set(LocalEntry(file: file("only here", one), status: status)),
            ]
        ) { _ in false }
        return index
    }

    @Test func unkeptFilesStayAndAreNoLongerVouchedFor() async throws {
        let index = try await Self.index()
        try await index.store.reselect(music) { _ in true }
        let local = try await index.store.local(music, "a")
        #expect(local?.flags == .ignored && local?.status == Self.status && local?.file.blocks.count == 1)
        #expect(try await index.store.totals(of: music).local.files == 2)
        // A deletion that others have gone beyond is forgotten: what is announced of the name is what they have.
        #expect(try await index.store.local(music, "back") == nil)
        // One that nobody has taken over yet stands.
        #expect(try await index.store.local(music, "gone")?.file.isDeleted == true)
        let updates = try await Self.updates(index, after: 4)
        #expect(Set(updates.map(\.name)) == ["a", "back", "only here"])
        #expect(updates.allSatisfy { $0.isInvalid && $0.blocks.isEmpty && $0.size == 0 })
        #expect(updates.allSatisfy { $0.version == ($0.name == "back" ? Self.two : Self.one) })
        // Twice says nothing new.
        let last = try await index.store.localIndex(of: music).maxSequence
        #expect(try await index.store.reselect(music) { _ in true }.localSequence == last)
        let needed = try await index.store.needed(
            in: music, limit: 10, isKept: { _ in false }, mayContain: { _ in false })
        #expect(needed.entries == [])
    }

    /// A peer that counts what this device lacks goes by versions: the ignored must follow the winner.
    @Test func unkeptFilesFollowTheWinner() async throws {
        let index = try await Self.index()
        try await index.store.reselect(music) { _ in true }
        let before = try await index.store.localIndex(of: music).maxSequence
        let result = try await index.announce([file("a", Self.two, size: 77)], by: alice, ignoring: ["a"])
        #expect(result.localSequence == before + 1)
        let updates = try await Self.updates(index, after: before)
        #expect(updates.map(\.name) == ["a"] && updates[0].version == Self.two && updates[0].isInvalid)
        // What is on the disk is still known to be the older one.
        #expect(try await index.store.local(music, "a")?.file.version == Self.one)
        try await index.store.dropDevice(alice)
        #expect(try await Self.updates(index).first { $0.name == "a" }?.version == Self.one)
    }

    @Test func onlyThePlaceOfAChangeIsLookedAt() async throws {
        let index = try await TestIndex()
        let names = ["a/b", "a/b/c", "a/b/c/d", "a/b-", "a", "z"]
        try await index.announce(names.map { directory($0, Self.one) }, by: alice)
        try await index.store.reselect(music, at: "a/b") { _ in true }
        #expect(try await Self.updates(index).map(\.name) == ["a", "a/b", "a/b/c", "a/b/c/d"])
        try await index.store.reselect(music, at: "a/b/c/d") { $0 == "a/b/c" }
        #expect(try await Self.updates(index).map(\.name) == ["a/b/c"])
        try await index.store.reselect(music, at: "nowhere/x") { _ in true }
        #expect(try await Self.updates(index).map(\.name) == ["a/b/c"])
        try await index.store.reselect(music) { _ in true }
        #expect(try await Self.updates(index).count == names.count)
    }

    @Test func keptAgainIsToBeScanned() async throws {
        let index = try await Self.index()
        try await index.store.reselect(music) { _ in true }
        let before = try await index.store.localIndex(of: music).maxSequence
        try await index.store.reselect(music) { _ in false }
        let local = try await index.store.local(music, "a")
        #expect(local?.flags == .mustRescan && local?.status == Self.status && local?.file.isInvalid == true)
        let updates = try await Self.updates(index, after: before)
        // Of "back", which has the winner of others, it is said that it is not here.
        #expect(Set(updates.map(\.name)) == ["a", "back", "only here"] && updates.allSatisfy(\.isInvalid))
        let needed = try await index.store.needed(
            in: music, limit: 10, isKept: { _ in true }, mayContain: { _ in true })
        #expect(needed.entries.map(\.path) == ["a", "back"] && needed.entries[0].hasSameContent)
        // Found unchanged, it is vouched for again.
        guard var scanned = local else { return }
        scanned.flags = []
        scanned.file.isInvalid = false
        try await index.store.applyLocal(in: music, [.set(scanned)]) { _ in false }
        #expect(try await Self.updates(index).last?.isInvalid == false)
        #expect(try await index.store.global(music, "a")?.isLocalCurrent == true)
    }
}
