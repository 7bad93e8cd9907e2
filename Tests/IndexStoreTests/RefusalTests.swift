import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

/// What devices announce that may only read: alice writes, bob and carol read.
@Suite struct RefusalTests {
    static let status = FileStatus(inode: 42, changedSeconds: 1_700_000_000, changedNanoseconds: 7)
    static let base = version((alice, 1))
    static let byBob = version((alice, 1), (bob, 1))

    struct Cluster {
        let index: TestIndex
        var store: IndexStore { index.store }

        init(readers: Set<DeviceID> = [bob, carol]) async throws {
            index = try await TestIndex()
            try await read(readers)
        }

        func read(_ readers: Set<DeviceID>, ignoring: Set<String> = []) async throws {
            try await store.setReaders(
                of: music, to: readers, writers: Set([alice, bob, carol]).subtracting(readers)
            ) { ignoring.contains($0) }
        }

        func global(_ name: String = "f") async throws -> VersionVector? {
            try await store.global(music, name)?.file?.version
        }

        func holders(_ name: String = "f") async throws -> [DeviceID] {
            try await store.global(music, name)?.holders ?? []
        }

        func refused() async throws -> [String] {
            let page = try await store.refused(in: music, limit: 100)
            #expect(try await store.refusedCount(in: music, limit: 100).count == page.versions.count)
            return page.versions.map { "\($0.file.name)\($0.file.isDeleted ? " deleted" : "")" }.sorted()
        }

        func set(_ file: FileInfo) async throws {
            try await store.applyLocal(in: music, [.set(LocalEntry(file: file, status: RefusalTests.status))]) { _ in
                false
            }
        }
    }

    @Test func aReadersChangeDoesNotCountAndIsShown() async throws {
        let cluster = try await Cluster()
        try await cluster.index.announce([file("f", Self.base)], by: alice)
        try await cluster.index.announce([file("f", Self.base)], by: bob)
        #expect(try await cluster.holders() == [alice, bob].sorted())
        let result = try await cluster.index.announce([file("f", Self.byBob, content: 1)], by: bob)
        #expect(result.changedCount == 0)
        #expect(try await cluster.global() == Self.base)
        #expect(try await cluster.holders() == [alice])
        #expect(try await cluster.refused() == ["f"])
        #expect(try await cluster.store.refusedCount(in: music, limit: 1).devices == [bob])
    }

    /// A change counts by who announces it, whatever the entry says of who made it.
    @Test(arguments: [alice, bob, carol]) func aReaderThatNamesAnotherAsTheAuthorIsRefused(author: DeviceID)
        async throws
    {
        let cluster = try await Cluster(readers: [bob])
        try await cluster.index.announce([file("f", Self.base)], by: alice)
        try await cluster.index.announce([file("f", Self.base)], by: bob)
        // As if `author` had changed it next.
        var forged = file("f", version((alice, 1), (author, 2)), content: 1)
        forged.modifiedBy = author.shortID
        try await cluster.index.announce([forged], by: bob)
        #expect(try await cluster.global() == Self.base)
        #expect(try await cluster.holders() == [alice])
        #expect(try await cluster.refused() == ["f"])
    }

    @Test func whatOnlyAReaderEverHadIsNotListed() async throws {
        let cluster = try await Cluster()
        try await cluster.index.announce(
            [directory("d", version((bob, 1))), file("d/f", version((bob, 2)))], by: bob, ignoring: ["d/f"])
        #expect(try await cluster.store.children(music, of: "").isEmpty)
        #expect(try await cluster.store.totals(of: music).global == .zero)
        #expect(try await cluster.store.localUpdates(of: music, after: 0, limit: 10).isEmpty)
        #expect(try await cluster.refused() == ["d", "d/f"])
        // It is forgotten with the device.
        try await cluster.store.dropDevice(bob, in: music)
        #expect(try await cluster.refused() == [])
        #expect(try await cluster.store.search("f", in: music, limit: 10).entries.isEmpty)
    }

    @Test func aReadersDeletionDoesNotCount() async throws {
        let cluster = try await Cluster()
        try await cluster.set(file("f", Self.base))
        try await cluster.index.announce([deleted("f", Self.byBob)], by: bob)
        #expect(try await cluster.global() == Self.base)
        #expect(try await cluster.refused() == ["f deleted"])
        #expect(
            try await cluster.store.needed(
                in: music, limit: 10, isKept: { _ in true }, mayContain: { _ in true }
            ).entries.isEmpty)
    }

    @Test func whatAWriterAnnouncesTooCountsWhicheverComesFirst() async throws {
        let cluster = try await Cluster()
        try await cluster.index.announce([file("f", Self.byBob)], by: bob)
        #expect(try await cluster.refused() == ["f"])
        try await cluster.index.announce([file("f", Self.byBob)], by: alice)
        #expect(try await cluster.refused() == [])
        #expect(try await cluster.holders() == [alice, bob].sorted())
    }

    /// What others free does not vanish with them as long as a reader holds it.
    @Test func whatCountedOnceGoesOnToCount() async throws {
        let cluster = try await Cluster()
        try await cluster.set(file("f", Self.base))
        try await cluster.index.announce([file("f", Self.base)], by: bob)
        try await cluster.store.reselect(music) { _ in true }
        try await cluster.store.applyLocal(in: music, [.forget("f")]) { _ in true }
        #expect(try await cluster.holders() == [bob])
        #expect(try await cluster.store.global(music, "f")?.isPresent == true)
        // Announced again as it is, or out of sight for a moment, it still does.
        try await cluster.index.announce([file("f", Self.base).asInvalid], by: bob, ignoring: ["f"])
        try await cluster.index.announce([file("f", Self.base)], by: bob, ignoring: ["f"])
        #expect(try await cluster.holders() == [bob])
        // The next change of it does not.
        try await cluster.index.announce([deleted("f", Self.byBob)], by: bob, ignoring: ["f"])
        #expect(try await cluster.store.global(music, "f")?.isPresent == false)
        #expect(try await cluster.refused() == ["f deleted"])
    }

    /// A reader that claims a version with other blocks does not say what is in it.
    @Test func aReaderNeverSaysWhatAVersionIs() async throws {
        for reader in [bob, carol] {
            let cluster = try await Cluster()
            try await cluster.index.announce([file("f", Self.base, content: 9)], by: reader)
            try await cluster.index.announce([file("f", Self.base, content: 1)], by: alice)
            #expect(try await cluster.store.file(music, "f")?.blocks.first?.hash == hash(1))
        }
        let cluster = try await Cluster()
        try await cluster.index.announce([file("f", Self.base, content: 1)], by: alice)
        try await cluster.index.announce([file("f", Self.base, content: 1)], by: bob)
        try await cluster.store.dropDevice(alice, in: music)
        try await cluster.index.announce([file("f", Self.base, content: 2)], by: carol)
        #expect(try await cluster.holders() == [bob])
    }

    /// A reader that announces other content under a writer's version is no copy, and does not become one when the writers
    /// free theirs.
    @Test func aReaderCannotChangeAVersionsContent() async throws {
        for isListed in [false, true] {
            let blocks = { (content: UInt64) in
                isListed
                    ? file("f", Self.base, blocks: [(131_072, content), (10, content)])
                    : file("f", Self.base, content: content)
            }
            let cluster = try await Cluster()
            try await cluster.index.announce([blocks(1)], by: alice)
            try await cluster.index.announce([blocks(2)], by: bob)
            #expect(try await cluster.holders() == [alice])
            #expect(try await cluster.refused() == ["f"])
            try await cluster.index.announce([blocks(1).asInvalid], by: alice)
            #expect(try await cluster.holders() == [])
            #expect(try await cluster.store.global(music, "f")?.isPresent == false)
            // Nor by taking back what counted, and coming again with something else.
            try await cluster.index.announce([blocks(1)], by: bob)
            #expect(try await cluster.holders() == [bob])
            try await cluster.index.announce([blocks(1).asInvalid], by: bob)
            try await cluster.index.announce([blocks(2)], by: bob)
            #expect(try await cluster.holders() == [])
            try await cluster.index.announce([blocks(1)], by: bob)
            #expect(try await cluster.holders() == [bob])
            #expect(try await cluster.store.file(music, "f")?.blocks.first?.hash == hash(1))
        }
    }

    /// A version that was only ever seen as taken back proves no content.
    @Test func whatNobodyVouchesForIsNotLetIn() async throws {
        let cluster = try await Cluster()
        try await cluster.index.announce([file("f", Self.base).asInvalid, directory("d", Self.base)], by: alice)
        try await cluster.index.announce([directory("d", Self.base).asInvalid], by: alice)
        try await cluster.index.announce([file("f", Self.base), directory("d", Self.base)], by: bob)
        #expect(try await cluster.refused() == ["f"])
        #expect(try await cluster.holders("d") == [bob])
    }

    @Test func acceptingCountsForExactlyThatVersion() async throws {
        let cluster = try await Cluster()
        try await cluster.set(file("f", Self.base))
        try await cluster.index.announce([file("f", Self.byBob, content: 1)], by: bob)
        let page = try await cluster.store.refused(in: music, limit: 10)
        let (names, result) = try await cluster.store.accept(page.versions, in: music) { _ in false }
        #expect(names == ["f"] && result.changed == ["f"])
        #expect(try await cluster.global() == Self.byBob)
        #expect(try await cluster.refused() == [])
        let next = version((alice, 1), (bob, 2))
        try await cluster.index.announce([file("f", next, content: 2)], by: bob)
        #expect(try await cluster.global() == Self.base)
        #expect(try await cluster.refused() == ["f"])
        // What is accepted has to be what is announced.
        #expect(try await cluster.store.accept(page.versions, in: music) { _ in false }.names == [])
        #expect(try await cluster.global() == Self.base)
    }

    @Test func acceptedNamesThatAreNotKeptAreAnnouncedAsSuch() async throws {
        let cluster = try await Cluster()
        try await cluster.index.announce([file("f", version((bob, 1)))], by: bob, ignoring: ["f"])
        let page = try await cluster.store.refused(in: music, limit: 10)
        _ = try await cluster.store.accept(page.versions, in: music) { _ in true }
        let updates = try await cluster.store.localUpdates(of: music, after: 0, limit: 10)
        #expect(updates.map(\.name) == ["f"] && updates.map(\.isInvalid) == [true])
    }

    @Test func whatALaterVersionHasSeenIsNotShown() async throws {
        let cluster = try await Cluster()
        try await cluster.set(file("f", Self.base))
        try await cluster.index.announce([file("f", Self.byBob, content: 1)], by: bob)
        try await cluster.set(file("f", version((alice, 2), (bob, 1))))
        #expect(try await cluster.refused() == [])
        #expect(try await cluster.global() == version((alice, 2), (bob, 1)))
        // It shows again when that goes: it never counted.
        try await cluster.store.applyLocal(in: music, [.set(LocalEntry(file: file("f", Self.base)))]) { _ in false }
        #expect(try await cluster.refused() == ["f"])
    }

    @Test func aReaderBecomesAWriterAndBack() async throws {
        let cluster = try await Cluster()
        try await cluster.index.announce([file("f", Self.base)], by: alice)
        try await cluster.index.announce([file("f", Self.byBob), file("g", version((bob, 1)))], by: bob)
        #expect(try await cluster.refused() == ["f", "g"])
        try await cluster.read([carol], ignoring: ["g"])
        #expect(try await cluster.refused() == [])
        #expect(try await cluster.global() == Self.byBob)
        #expect(try await cluster.global("g") == version((bob, 1)))
        #expect(try await cluster.store.localUpdates(of: music, after: 0, limit: 10).map(\.name) == ["g"])
        // What it announced while it could write stays; the next does not count.
        try await cluster.read([bob, carol])
        #expect(try await cluster.global() == Self.byBob)
        try await cluster.index.announce([deleted("g", version((bob, 2)))], by: bob)
        #expect(try await cluster.refused() == ["g deleted"])
        // Whoever does not share the folder any more is let in with nothing.
        try await cluster.store.setReaders(of: music, to: [carol], writers: [alice]) { _ in false }
        #expect(try await cluster.refused() == ["g deleted"])
    }

    @Test func rolesAndRefusalsOutliveTheProcess() async throws {
        let cluster = try await Cluster()
        try await cluster.index.announce([file("f", version((bob, 1)))], by: bob)
        try cluster.store.close()
        let store = try IndexStore.open(path: cluster.index.directory.index)
        #expect(try await store.refused(in: music, limit: 10).versions.map(\.file.name) == ["f"])
        try await store.applyIndex(
            of: music, device: bob, files: [file("g", version((bob, 1)))], replacesAll: false, isIgnored: { _ in false }
        )
        #expect(try await store.refusedCount(in: music, limit: 10).count == 2)
        try await store.removeFolder(music)
        try store.close()
    }

    @Test func refusedNamesComeInPages() async throws {
        let cluster = try await Cluster()
        for device in [bob, carol] {
            try await cluster.index.announce((0..<5).map { file("\($0)", version((device, 1))) }, by: device)
        }
        var names: [String] = []
        var cursor: RefusedPage.Cursor?
        repeat {
            let page = try await cluster.store.refused(in: music, after: cursor, limit: 3)
            #expect(page.versions.count <= 3)
            names += page.versions.map { "\($0.file.name) \($0.device == bob)" }
            cursor = page.next
        } while cursor != nil
        #expect(names.count == 10 && Set(names).count == 10)
    }

    /// Over random histories: what counts is what some writer announced, or a reader while somebody vouched for it, and
    /// aggregates are those of what counts.
    @Test(arguments: 0..<8) func randomHistory(seed: UInt64) async throws {
        let cluster = try await Cluster(readers: [bob])
        var random = SeededGenerator(seed: seed &+ 7000)
        var vouched: Set<VersionVector> = []
        let names = ["a", "a/b", "a/c", "d"]
        var counter: UInt64 = 0
        for _ in 0..<60 {
            let name = names.randomElement(using: &random) ?? "a"
            let device = [alice, bob, bob, carol].randomElement(using: &random) ?? bob
            counter += 1
            var seen = try await cluster.global(name) ?? VersionVector()
            if Int.random(in: 0..<3, using: &random) > 0 {
                seen = seen.updated(by: device.shortID, unixSeconds: counter)
            }
            guard !seen.isEmpty else { continue }
            let said =
                Bool.random(using: &random)
                ? file(name, seen, modified: Int64(counter), content: counter)
                : deleted(name, seen, modified: Int64(counter))
            if device != bob { vouched.insert(seen) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                try await cluster.store.dropDevice(device, in: music)
                try await cluster.read([bob])
            case 1: try await cluster.set(file(name, seen, content: counter)); vouched.insert(seen)
            default: try await cluster.index.announce([said], by: device)
            }
            for name in names {
                guard let file = try await cluster.store.global(music, name)?.file else { continue }
                #expect(vouched.contains(file.version), "\(name) of \(file.version)")
            }
            var files: Int64 = 0
            for name in names where try await cluster.store.global(music, name)?.isPresent == true { files += 1 }
            #expect(try await cluster.store.totals(of: music).global.files == files)
        }
    }
}
