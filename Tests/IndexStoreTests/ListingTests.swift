import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct ListingTests {
    private struct Row: Equatable, Sendable {
        var id: Int64
        var name: String
        var isDirectory: Bool
        var size: Int64
        var modified: Int64?
    }

    private static func index() async throws -> TestIndex {
        let index = try await TestIndex()
        try await index.announce(
            [
                directory("Photos", version((alice, 1))), file("Photos/Summer/a.jpg", version((alice, 1)), size: 7),
                file("Photos/b", version((alice, 1)), size: 5), file("notes.txt", version((alice, 1)), size: 5),
                file("old/gone.jpg", version((alice, 1))), file("way/to/it", version((alice, 1)), size: 2),
                file("zero", version((alice, 1)), size: 0),
            ], by: alice)
        try await index.announce([deleted("old/gone.jpg", version((alice, 2)))], by: bob)
        return index
    }

    private static func rows(_ index: TestIndex, _ directory: String) async throws -> [Row] {
        try await index.store.foldListing(of: music, in: directory, into: [Row]()) { rows, row in
            rows.append(
                Row(
                    id: row.id, name: String(decoding: row.name, as: UTF8.self), isDirectory: row.isDirectory,
                    size: row.size, modified: row.modified))
        }
    }

    /// The walk lists what `children` does, and what it says of each is what is in the whole entry.
    @Test(arguments: ["", "Photos", "Photos/Summer", "old", "way", "nowhere", "notes.txt"])
    func isWhatChildrenList(directory: String) async throws {
        let index = try await Self.index()
        let children = try await index.store.children(music, of: directory)
        let rows = try await Self.rows(index, directory)
        #expect(rows.map(\.name) == children.map { String($0.name) })
        #expect(rows.map(\.isDirectory) == children.map(\.isDirectory))
        #expect(rows.map(\.size) == children.map { $0.isDirectory ? $0.below.bytes : $0.file?.size ?? -1 })
        #expect(rows.map(\.modified) == children.map { $0.isPresent ? $0.file?.modifiedSeconds : nil })
        let ids = rows.map(\.id).reversed() + [1 << 40]
        let entries = try await index.store.entries(music, of: directory, ids: Array(ids))
        #expect(entries == children.reversed() + [nil])
    }

    @Test func whatIsGoneOrElsewhereIsNotGiven() async throws {
        let index = try await Self.index()
        let ids = try await Self.rows(index, "Photos").map(\.id)
        #expect(try await index.store.entries(music, of: "", ids: ids) == [nil, nil])
        #expect(try await index.store.entries(music, of: "nowhere", ids: ids) == [nil, nil])
        try await index.announce([deleted("Photos/b", version((alice, 3)))], by: bob)
        let entries = try await index.store.entries(music, of: "Photos", ids: ids)
        #expect(entries.map { $0?.path } == ["Photos/Summer", nil])
    }

    @Test func theStampDiffersWithTheIndex() async throws {
        let index = try await Self.index()
        var stamps = [try await index.store.listingStamp(of: music)]
        #expect(try await index.store.listingStamp(of: music) == stamps[0])
        try await index.announce([file("new", version((bob, 1)), sequence: 7)], by: bob)
        stamps.append(try await index.store.listingStamp(of: music))
        try await index.announce([file("new", version((bob, 2)), size: 9, sequence: 8)], by: bob)
        stamps.append(try await index.store.listingStamp(of: music))
        try await index.store.dropDevice(bob)
        stamps.append(try await index.store.listingStamp(of: music))
        #expect(Set(stamps).count == stamps.count)
    }

    /// All entries are others now, which their number and the sequences do not tell.
    @Test func theStampDiffersWhereADeviceAnnouncesItsIndexAgain() async throws {
        let index = try await TestIndex()
        let files = [file("a", version((alice, 1))), file("b", version((alice, 1)), sequence: 2)]
        try await index.announce(files, by: alice)
        let stamp = try await index.store.listingStamp(of: music)
        try await index.announce(files, by: alice, replacesAll: true)
        #expect(try await index.store.listingStamp(of: music) != stamp)
    }

    @Test func theStampDiffersWhereSomethingRefusedIsAccepted() async throws {
        let index = try await TestIndex()
        try await index.store.setReaders(of: music, to: [alice], writers: []) { _ in false }
        try await index.announce([file("a", version((alice, 1)))], by: alice)
        #expect(try await index.store.children(music).isEmpty)
        let stamp = try await index.store.listingStamp(of: music)
        let refused = try await index.store.refused(in: music, limit: 10).versions
        _ = try await index.store.accept(refused, in: music) { _ in false }
        #expect(try await index.store.children(music).map(\.path) == ["a"])
        #expect(try await index.store.listingStamp(of: music) != stamp)
    }
}
