import BlockExchange
import Synchronization
import Testing

@testable import IndexStore

@Suite struct LocalTests {
    static let status = FileStatus(inode: 42, changedSeconds: 1_700_000_000, changedNanoseconds: 7)

    @Test func localEntrySurvives() async throws {
        let index = try await TestIndex()
        let entry = LocalEntry(file: file("d/a", version((alice, 1)), sequence: 99), status: Self.status)
        let result = try await index.store.applyLocal(in: music, [.set(entry)]) { _ in false }
        #expect(result.changed == ["d/a"] && result.localSequence == 1)
        var expected = LocalEntry(file: entry.file.withBlocksHash, status: Self.status)
        expected.file.sequence = 1
        #expect(try await index.store.local(music, "d/a") == expected)
        #expect(try await index.store.local(music, "d") == nil)
        let global = try await index.store.global(music, "d/a")
        #expect(global?.isLocalCurrent == true && global?.holders == [])
        #expect(try await index.store.totals(of: music).local == Aggregate(files: 1, bytes: 10))
    }

    @Test func flaggedEntriesAreAnnouncedInvalid() async throws {
        let index = try await TestIndex()
        let flags: [LocalFlags] = [.unsupported, .ignored, .mustRescan, .receiveOnlyChanged, []]
        let changes = flags.enumerated().map { number, flags in
            LocalChange.set(LocalEntry(file: file("\(number)", version((alice, 4))), flags: flags, status: Self.status))
        }
        try await index.store.applyLocal(in: music, changes) { _ in false }
        let updates = try await index.store.localUpdates(of: music, after: 0, limit: 10)
        #expect(updates.map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(updates.map(\.isInvalid) == [true, true, true, true, false])
        #expect(updates.map(\.size) == [0, 0, 0, 0, 10])
        #expect(updates.map(\.blocks.count) == [0, 0, 0, 0, 1])
        #expect(updates.map(\.version.isEmpty) == [false, false, false, true, false])
        #expect(try await index.store.local(music, "1")?.file.blocks.count == 1)
        #expect(try await index.store.localUpdates(of: music, after: 2, limit: 2).map(\.sequence) == [3, 4])
    }

    /// What lies in a directory that is not there itself, or is none, is found, deep or not; what was deleted, never seen on the disk, or
    /// lies in the root or in a directory that is there, is none.
    @Test func orphansAreNamesWhoseDirectoryIsGone() async throws {
        let index = try await TestIndex()
        func directory(_ name: String, isDeleted: Bool = false) -> FileInfo {
            FileInfo(name: name, kind: .directory, isDeleted: isDeleted, version: version((alice, 1)))
        }
        var deleted = file("gone/deleted", version((alice, 2)))
        deleted.isDeleted = true
        deleted.size = 0
        deleted.blocks = []
        let here = [
            directory("d"), file("d/a", version((alice, 1))), file("top", version((alice, 1))),
            // Something else has the directory's place.
            file("f", version((alice, 1))), file("f/a", version((alice, 1))),
            directory("gone/d"), file("gone/d/a", version((alice, 1))), file("gone/b", version((alice, 1))),
        ]
        // Nothing is there yet, which holds until something is written.
        #expect(try await index.store.localOrphans(of: music, limit: 10) == [])
        var changes = here.map { LocalChange.set(LocalEntry(file: $0, status: Self.status)) }
        changes.append(.set(LocalEntry(file: directory("gone", isDeleted: true))))
        changes.append(.set(LocalEntry(file: deleted)))
        changes.append(.set(LocalEntry(file: file("gone/never", version((alice, 1))))))
        try await index.store.applyLocal(in: music, changes) { _ in false }
        #expect(try await Set(index.store.localOrphans(of: music, limit: 10)) == ["gone/d", "gone/b", "f/a"])
        #expect(try await index.store.localOrphans(of: music, limit: 1).count == 1)
    }

    @Test func conflictCopiesAreFilesOnThisDisk() async throws {
        let index = try await TestIndex()
        #expect(try await index.store.conflictCopies(in: music) == [])
        let copy = "d/a.sync-conflict-20261127-101112-ABCDEFG.txt"
        let here = [
            FileInfo(name: "d", kind: .directory, version: version((alice, 1))), file(copy, version((alice, 1))),
            file("d/a.txt", version((alice, 1))),
        ]
        let changes = here.map { LocalChange.set(LocalEntry(file: $0, status: Self.status)) }
        try await index.store.applyLocal(in: music, changes) { _ in false }
        #expect(try await index.store.conflictCopies(in: music) == [copy])
        try await index.store.applyLocal(in: music, [.forget(copy)]) { _ in false }
        #expect(try await index.store.conflictCopies(in: music) == [])
    }

    /// What was read holds until something is written, for each folder by itself; long lists are read again.
    @Test func namesAreRememberedUntilSomethingIsWritten() async throws {
        let writes = WriteCount()
        let remembered = RememberedNames(writes, countLimit: 1)
        let reads = Mutex(0)
        func names(_ found: [String], of folder: FolderID = music) async throws -> [String] {
            try await remembered.names(of: folder) {
                reads.withLock { $0 += 1 }
                return found
            }
        }
        #expect(try await names(["a"]) == ["a"])
        #expect(try await names(["b"]) == ["a"])
        #expect(try await names(["b"], of: FolderID("other")) == ["b"])
        writes.add()
        #expect(try await names(["b"]) == ["b"])
        #expect(reads.withLock { $0 } == 3)
        writes.add()
        #expect(try await names(["c", "d"]) == ["c", "d"])
        #expect(try await names(["e"]) == ["e"])
        #expect(reads.withLock { $0 } == 5)
    }

    @Test func pagesOfUpdatesEndWithTheirBlocks() async throws {
        let index = try await TestIndex()
        let changes = (0..<5).map { number in
            let blocks = (0..<3).map { BlockInfo(offset: Int64($0), size: 1, hash: hash(UInt64($0))) }
            return LocalChange.set(
                LocalEntry(file: FileInfo(name: "\(number)", size: 3, version: version((alice, 1)), blocks: blocks)))
        }
        try await index.store.applyLocal(in: music, changes) { _ in false }
        let page = try await index.store.localUpdates(of: music, after: 0, limit: 10, blockLimit: 4)
        #expect(page.map(\.sequence) == [1, 2])
        #expect(try await index.store.localUpdates(of: music, after: 0, limit: 10, blockLimit: 1).count == 1)
    }

    /// A name that is fetched and given up again is announced as ignored before and after, with a new sequence.
    @Test func forgottenEntriesAreIgnoredAgain() async throws {
        let index = try await TestIndex()
        try await index.announce([file("a", version((alice, 1)))], by: alice, ignoring: ["a"])
        try await index.store.applyLocal(
            in: music, [.set(LocalEntry(file: file("a", version((alice, 1))), status: Self.status))]
        ) { _ in false }
        var updates = try await index.store.localUpdates(of: music, after: 0, limit: 10)
        #expect(updates.map(\.sequence) == [2] && updates.map(\.isInvalid) == [false])
        try await index.store.applyLocal(in: music, [.forget("a"), .forget("never")]) { _ in true }
        updates = try await index.store.localUpdates(of: music, after: 0, limit: 10)
        #expect(updates.map(\.sequence) == [3] && updates.map(\.isInvalid) == [true])
        #expect(try await index.store.totals(of: music).local == .zero)
        #expect(try await index.store.localBlocks(hash(0), in: music) == [])
    }

    /// Whoever has heard that this device has the name, and nothing since, hears that it has not when nobody vouches for
    /// it any more, too.
    @Test(arguments: [false, true]) func whatIsGoneIsStillGoneWhenOthersLoseIt(isDropped: Bool) async throws {
        let index = try await TestIndex()
        let first = file("a", version((alice, 1)))
        try await index.announce([first], by: alice, ignoring: ["a"])
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: first, status: Self.status))]) { _ in false }
        try await index.store.applyLocal(in: music, [.forget("a")]) { _ in true }
        if isDropped {
            try await index.store.dropDevice(alice)
        } else {
            var lost = first
            lost.isInvalid = true
            try await index.announce([lost], by: alice, ignoring: ["a"])
        }
        let updates = try await index.store.localUpdates(of: music, after: 0, limit: 10)
        #expect(updates.map(\.name) == ["a"] && updates.map(\.isInvalid) == [true])
        #expect(try await index.store.local(music, "a")?.flags == .ignored)
    }

    /// Whoever has heard that this device has the name, and nothing since, hears that it has not.
    @Test func whatIsGoneIsStillGoneWhenItIsSelectedAgain() async throws {
        let index = try await TestIndex()
        try await index.announce([file("a", version((alice, 1))), file("b", version((alice, 1)))], by: alice)
        try await index.store.applyLocal(
            in: music, [.set(LocalEntry(file: file("a", version((alice, 1))), status: Self.status))]
        ) { _ in false }
        let heard = try await index.store.localUpdates(of: music, after: 0, limit: 10).last
        #expect(heard?.isInvalid == false)
        try await index.store.reselect(music) { _ in true }
        try await index.store.applyLocal(in: music, [.forget("a")]) { _ in true }
        try await index.store.reselect(music) { _ in false }
        // What never was here is not spoken of.
        let updates = try await index.store.localUpdates(of: music, after: heard?.sequence ?? 0, limit: 10)
        #expect(updates.map(\.name) == ["a"] && updates.map(\.isInvalid) == [true])
        #expect(try await index.store.local(music, "a")?.flags == .mustRescan)
        #expect(try await index.store.local(music, "b") == nil)
    }

    /// A mark behind a slash makes one Character of both: the name is below the directory all the same.
    @Test func directoriesAboveTheNameAreReselectedToo() async throws {
        let index = try await TestIndex()
        let name = "d/\u{301}x"
        let above = directory("d", version((alice, 1)))
        try await index.announce([above, file(name, version((alice, 1)))], by: alice)
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: above, status: Self.status))]) { _ in
            false
        }
        try await index.store.reselect(music) { _ in true }
        #expect(try await index.store.local(music, "d")?.flags == .ignored)
        try await index.store.reselect(music, at: name) { _ in false }
        #expect(try await index.store.local(music, "d")?.flags != .ignored)
    }

    /// A rename took the selection of "a" along: its deletion is announced until the last of those that announce the name
    /// has taken it over, as a device that heard of it from nobody else would bring the name back.
    @Test(arguments: [false, true]) func aDeletionStandsWhileAnybodyHasTheName(isReselectedLate: Bool) async throws {
        let index = try await TestIndex()
        let first = version((alice, 1))
        let gone = version((alice, 1), (carol, 1))
        func own() async throws -> FileInfo? {
            try await index.store.localUpdates(of: music, after: 0, limit: 10).first { $0.name == "a" }
        }
        for device in [alice, bob] { try await index.announce([file("a", first)], by: device) }
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: deleted("a", gone)))]) { _ in false }
        if !isReselectedLate { try await index.store.reselect(music) { _ in true } }
        try await index.announce([deleted("a", gone)], by: alice, ignoring: isReselectedLate ? [] : ["a"])
        if isReselectedLate { try await index.store.reselect(music) { _ in true } }
        var heard = try #require(try await own())
        #expect(heard.isDeleted && !heard.isInvalid && heard.version == gone)
        try await index.announce([deleted("a", gone)], by: bob, ignoring: ["a"])
        heard = try #require(try await own())
        #expect(heard.isInvalid && heard.version == gone)
        #expect(try await index.store.local(music, "a") == nil)
    }

    /// The deletion of an ignored name does not hide that the name was made again.
    @Test func aDeletionDoesNotOutliveWhatItDeleted() async throws {
        let index = try await TestIndex()
        try await index.announce([file("a", version((alice, 1)))], by: alice, ignoring: ["a"])
        let gone = version((alice, 1), (carol, 1))
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: deleted("a", gone)))]) { _ in true }
        let again = version((alice, 2), (carol, 1))
        try await index.announce([file("a", again)], by: alice, ignoring: ["a"])
        let updates = try await index.store.localUpdates(of: music, after: 0, limit: 10)
        #expect(updates.map(\.name) == ["a"] && updates.map(\.isInvalid) == [true] && updates.map(\.version) == [again])
    }

    @Test func selectionChangesWhatIsAnnounced() async throws {
        let index = try await TestIndex()
        let names = (0..<20).map { "d/\($0)" }
        try await index.announce(names.map { file($0, version((alice, 1))) }, by: alice, ignoring: Set(names))
        try await index.announce([file("x", version((alice, 1))).asInvalid], by: alice)
        let some = Set(names.prefix(5))
        try await index.store.reselect(music) { some.contains($0) }
        var updates = try await index.store.localUpdates(of: music, after: 0, limit: 100)
        #expect(Set(updates.map(\.name)) == some && updates.map(\.sequence) == [1, 2, 3, 4, 5])
        let result = try await index.store.reselect(music) { _ in true }
        #expect(result.localSequence == 35)
        updates = try await index.store.localUpdates(of: music, after: 20, limit: 100)
        #expect(updates.count == 15 && updates.allSatisfy { $0.isInvalid && $0.version == version((alice, 1)) })
    }

    @Test func blocksAreFoundAcrossFolders() async throws {
        let index = try await TestIndex()
        let other = FolderID("other")
        try await index.store.addFolder(other, newIndexID: IndexID(rawValue: 2))
        let blocks = (0..<3).map { BlockInfo(offset: Int64($0) << 17, size: 1 << 17, hash: hash(UInt64($0))) }
        let big = FileInfo(
            name: "d/big", size: 3 << 17, modifiedSeconds: 5, modifiedNanoseconds: 6, version: version((alice, 1)),
            blockSize: 1 << 17, blocks: blocks)
        try await index.store.applyLocal(in: music, [.set(LocalEntry(file: big, status: Self.status))]) { _ in false }
        try await index.store.applyLocal(
            in: other,
            [
                .set(
                    LocalEntry(
                        file: file("small", version((alice, 1)), content: 2), flags: .ignored, status: Self.status)),
                .set(LocalEntry(file: file("not here", version((alice, 1)), content: 2))),
                .set(LocalEntry(file: file("shared", version((alice, 1)), content: 3), status: Self.status)),
            ]
        ) { _ in false }
        let found = [
            try await index.store.localBlocks(hash(2), in: music),
            try await index.store.localBlocks(hash(2), in: other),
        ].flatMap(\.self)
        #expect(
            found == [
                LocalBlock(
                    folder: music, path: "d/big", offset: 2 << 17, size: 1 << 17, fileSize: 3 << 17, modifiedSeconds: 5,
                    modifiedNanoseconds: 6, status: Self.status),
                LocalBlock(
                    folder: other, path: "small", offset: 0, size: 10, fileSize: 10, modifiedSeconds: 1000,
                    modifiedNanoseconds: 0, status: Self.status),
            ])
        #expect(try await index.store.localBlocks(hash(3), in: other, limit: 0) == [])
        #expect(try await index.store.localBlocks(hash(9), in: music) == [])
        // Of another folder only what its devices may have.
        #expect(try await index.store.localBlocks(hash(3), in: music) == [])
        #expect(try await index.store.localBlocks(hash(3), in: music, or: [other]).map(\.path) == ["shared"])
        #expect(try await index.store.localBlocks(hash(2), in: music, or: [other]).map(\.path) == ["d/big"])
        let hashes = [hash(2), hash(3), hash(9)]
        #expect(try await index.store.blocksOnDisk(hashes, in: [music]) == [hash(2)])
        #expect(try await index.store.blocksOnDisk(hashes, in: [music, other]) == [hash(2), hash(3)])
    }
}

@Suite struct DeviceTests {
    @Test func lastSeenIsKept() async throws {
        let index = try await TestIndex()
        try await index.store.noteSeen(alice, at: 5)
        try await index.store.noteSeen(bob, at: 6)
        try await index.store.noteSeen(alice, at: 7)
        #expect(try await index.store.lastSeen() == [alice: 7, bob: 6])
        try await index.store.dropDevice(alice)
        #expect(try await index.store.lastSeen() == [bob: 6])
    }

    /// A device is seen last when its link ends, which cancels the task that notes it.
    @Test(arguments: [false, true]) func lastSeenIsKeptInACancelledTask(blocksCaller: Bool) async throws {
        let index = try await TestIndex(blocksCaller: blocksCaller)
        let store = index.store
        let noting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: CancellationError.self) {
                try await store.addFolder(FolderID("docs"), newIndexID: .none)
            }
            try await store.noteSeen(alice, at: 5)
        }
        try await noting.value
        #expect(try await store.lastSeen() == [alice: 5])
    }

    @Test func newestPendingStay() async throws {
        let index = try await TestIndex()
        let count = IndexStore.pendingLimit + 3
        for number in 0..<count {
            let device = DeviceID(digest: hash(UInt64(number)))
            try await index.store.notePending(
                PendingDevice(id: device, name: "n\(number)", address: "tcp://x:\(number)", lastSeen: Int64(number)))
            try await index.store.notePending(
                PendingFolder(id: FolderID("f"), device: device, label: "l\(number)", lastSeen: Int64(number)))
        }
        let long = String(repeating: "x", count: 5000)
        try await index.store.notePending(PendingFolder(id: FolderID("g"), device: bob, label: long, lastSeen: -1))
        #expect(try await index.store.pendingFolders().count == IndexStore.pendingLimit)
        try await index.store.notePending(PendingFolder(id: FolderID("g"), device: bob, label: long, lastSeen: 1000))
        #expect(try await index.store.pendingFolders().first?.label == String(long.prefix(1024)))
        try await index.store.forgetPending(FolderID("g"))
        let devices = try await index.store.pendingDevices()
        #expect(devices.map(\.lastSeen) == (3..<Int64(count)).reversed())
        #expect(devices.first?.name == "n102" && devices.first?.address == "tcp://x:102")
        let folders = try await index.store.pendingFolders()
        #expect(folders.map(\.label) == (4..<count).reversed().map { "l\($0)" })
        try await index.store.forgetPending(DeviceID(digest: hash(102)))
        #expect(try await index.store.pendingDevices().first?.name == "n101")
        try await index.store.forgetPending(FolderID("f"), from: DeviceID(digest: hash(101)))
        #expect(try await index.store.pendingFolders().count == IndexStore.pendingLimit - 2)
        try await index.store.forgetPending(FolderID("f"))
        #expect(try await index.store.pendingFolders() == [])
    }

    @Test func aRemovedDeviceOffersNothing() async throws {
        let index = try await TestIndex()
        let store = index.store
        for device in [alice, bob] {
            try await store.notePending(PendingFolder(id: FolderID("f"), device: device, label: "", lastSeen: 1))
        }
        try await store.dropDevice(alice, in: music)
        #expect(try await store.pendingFolders().count == 2)
        try await store.dropDevice(alice)
        #expect(try await store.pendingFolders().map(\.device) == [bob])
    }
}
