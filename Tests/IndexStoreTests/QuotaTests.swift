import BlockExchange
import Testing

@testable import IndexStore

/// What other devices may have stored, and that nobody else is harmed by one that wants more.
@Suite struct QuotaTests {
    private static func files(_ numbers: ClosedRange<Int64>, by device: DeviceID) -> [FileInfo] {
        numbers.map { file("n\($0)", version((device, 1)), sequence: $0) }
    }

    @Test func aDeviceAnnouncesSoManyNames() async throws {
        var quota = IndexStore.Quota()
        quota.entries = 5
        let index = try await TestIndex(quota: quota)
        try await index.announce(Self.files(1...5, by: alice), by: alice)
        let error = await #expect(throws: IndexStoreError.self) {
            try await index.announce(Self.files(6...6, by: alice), by: alice)
        }
        #expect(error?.code == .tooManyEntries)
        #expect(error?.message.contains(alice.shortID.description) == true)
        #expect(try await index.store.totals(of: music).global.files == 5)
        // The others go on, and so does this device.
        try await index.announce(Self.files(20...22, by: bob), by: bob)
        try await index.store.applyLocal(
            in: music, [.set(LocalEntry(file: file("mine", version((carol, 1)))))], isIgnored: { _ in false })
        #expect(try await index.store.totals(of: music).global.files == 9)
        // An index that begins again replaces what there was.
        try await index.announce(Self.files(6...8, by: alice), by: alice, replacesAll: true)
        #expect(try await index.store.totals(of: music).global.files == 7)
    }

    /// Long paths, long version vectors and what is carried unread, each alone.
    @Test(arguments: [
        FileInfo(name: String(repeating: "d/", count: 400) + "f", version: version((alice, 1)), sequence: 1),
        FileInfo(
            name: "f", version: version((alice, 1)), sequence: 1,
            carriedFields: [0x72, 127] + [UInt8](repeating: 0, count: 127)),
        FileInfo(
            name: "f", version: VersionVector((1...60).map { .init(id: ShortID(rawValue: $0), value: 1) }), sequence: 1),
    ])
    func aDeviceAnnouncesSoManyBytes(_ large: FileInfo) async throws {
        var quota = IndexStore.Quota()
        quota.bytes = 100
        let index = try await TestIndex(quota: quota)
        // The same again and again takes no more room.
        for sequence: Int64 in 1...20 {
            try await index.announce([file("n", version((alice, UInt64(sequence))), sequence: sequence)], by: alice)
        }
        try await index.announce([large], by: alice)
        let error = await #expect(throws: IndexStoreError.self) {
            try await index.announce(Self.files(30...30, by: alice), by: alice)
        }
        #expect(error?.code == .tooManyEntryBytes)
        #expect(error?.message.contains("of names and attributes of a folder, more than") == true)
        try await index.announce(Self.files(1...1, by: bob), by: bob)
        // An index that begins again replaces what there was.
        try await index.announce(Self.files(6...6, by: alice), by: alice, replacesAll: true)
        try await index.announce(Self.files(7...7, by: alice), by: alice)
    }

    @Test func whatIsFreeIsKeptForOwnChanges() async throws {
        var quota = IndexStore.Quota()
        (quota.freeBytes, quota.freePart) = (.max, 1)
        let index = try await TestIndex(quota: quota)
        let error = await #expect(throws: IndexStoreError.self) {
            try await index.announce(Self.files(1...1, by: alice), by: alice)
        }
        #expect(error?.code == .diskAlmostFull)
        #expect(error?.message.contains("are kept for changes on this device") == true)
        try await index.store.applyLocal(
            in: music, [.set(LocalEntry(file: file("mine", version((carol, 1)))))], isIgnored: { _ in false })
        #expect(try await index.store.totals(of: music).global.files == 1)
        // What takes nothing is no matter.
        try await index.announce([], by: alice, replacesAll: true)
    }

    @Test func offersOfOneDeviceDisplaceNobodyElses() async throws {
        let index = try await TestIndex()
        for number in 0..<3 {
            try await index.store.notePending(
                PendingFolder(id: FolderID("b\(number)"), device: bob, label: "", lastSeen: 1))
        }
        for number in 0..<300 {
            try await index.store.notePending(
                PendingFolder(id: FolderID("a\(number)"), device: alice, label: "", lastSeen: 10 + Int64(number)))
        }
        let folders = try await index.store.pendingFolders()
        #expect(folders.count { $0.device == bob } == 3)
        #expect(folders.filter { $0.device == alice }.map(\.id.rawValue) == (260..<300).reversed().map { "a\($0)" })
    }
}
