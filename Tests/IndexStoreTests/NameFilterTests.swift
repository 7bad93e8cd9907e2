import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

/// Searches that ask for more than a text.
@Suite struct NameFilterTests {
    static let photos = NameFilter.Endings(["jpg", "jpeg", "tif"])

    @Test(arguments: [
        ("a.jpg", true), ("a.JPG", true), ("a.jpeg", true), ("a.b.tif", true), ("a.jpgx", false), ("jpg", false),
        (".jpg", false), ("a.", false), ("a", false), ("a.jpg.zip", false), ("", false), ("a.verylongending", false),
        ("ü.jpg", true), ("a.jpé", false),
    ]) func endingsAreToldByTheLastDot(name: String, isPhoto: Bool) {
        Array(name.utf8).withUnsafeBytes { bytes in
            #expect(Self.photos.matches(bytes) == isPhoto)
            #expect(NameFilter.Endings(["jpg", "jpeg", "tif"], isExcluding: true).matches(bytes) == !isPhoto)
        }
    }

    @Test func aFilterFindsFilesOnly() async throws {
        let index = try await TestIndex()
        try await index.announce(
            [
                directory("d.jpg", version((alice, 1))),
                file("d.jpg/x.jpg", version((alice, 1)), size: 5, modified: 10),
                file("big.jpg", version((alice, 1)), size: 50, modified: 20),
                file("gone.jpg", version((alice, 1))), file("a.txt", version((alice, 1)), size: 50, modified: 30),
            ], by: alice)
        try await index.announce(
            [file("big.jpg", version((alice, 1)), size: 50, modified: 20), deleted("gone.jpg", version((alice, 2)))],
            by: bob)
        func found(_ filter: NameFilter, _ text: String = "") async throws -> [String] {
            try await index.store.search(text, filter: filter).entries.map(\.path)
        }
        #expect(try await found(.init(endings: Self.photos)) == ["big.jpg", "d.jpg/x.jpg"])
        #expect(try await found(.init(endings: Self.photos), "x") == ["d.jpg/x.jpg"])
        #expect(try await found(.init(size: 0...5), "d.jpg/") == ["d.jpg/x.jpg"])
        #expect(try await found(.init(size: 50...50)) == ["a.txt", "big.jpg"])
        #expect(try await found(.init(modified: 11...29)) == ["big.jpg"])
        #expect(try await found(.init(endings: Self.photos, modified: 30...Int64.max)) == [])
        #expect(try await found(.init(place: .device(bob))) == ["big.jpg"])
        #expect(try await found(.init(place: .device(carol))) == [])
        #expect(try await found(.init(place: .offline([bob]))) == ["a.txt", "d.jpg/x.jpg"])
        #expect(try await found(.init(place: .offline([]))) == ["a.txt", "big.jpg", "d.jpg/x.jpg"])
        #expect(try await found(.init(place: .here)) == [])
    }

    /// Against a test of each name, over random ones; whole, in halves, and cut.
    @Test(arguments: 0..<4) func filtersLikeATestOfEach(seed: UInt64) async throws {
        let index = try await TestIndex()
        var random = SeededGenerator(seed: seed &+ 5)
        var known: [String: (size: Int64, modified: Int64)] = [:]
        var files: [FileInfo] = []
        for number in 0..<200 {
            let ending = ["jpg", "TIF", "txt", "", "mp3"].randomElement(using: &random) ?? ""
            let name = "d\(number % 7)/n\(number)" + (ending.isEmpty ? "" : "." + ending)
            let (size, modified) = (Int64.random(in: 0...9, using: &random), Int64.random(in: 0...9, using: &random))
            known[name] = (size, modified)
            files.append(file(name, version((alice, 1)), size: size, modified: modified))
        }
        try await index.announce(files, by: alice)
        for _ in 0..<40 {
            func range() -> ClosedRange<Int64>? {
                let (one, other) = (Int64.random(in: 0...9, using: &random), Int64.random(in: 0...9, using: &random))
                return Bool.random(using: &random) ? min(one, other)...max(one, other) : nil
            }
            let filter = NameFilter(
                endings: Bool.random(using: &random) ? Self.photos : nil, modified: range(), size: range())
            guard !filter.isEmpty else { continue }
            let text = ["", "1", "d3/"].randomElement(using: &random) ?? ""
            let expected = known.filter { name, facts in
                let place = text.contains("/") ? name : name.split(separator: "/").last.map(String.init) ?? ""
                let isPhoto = name.lowercased().hasSuffix(".jpg") || name.lowercased().hasSuffix(".tif")
                return (text.isEmpty || place.contains(text)) && (filter.endings == nil || isPhoto)
                    && (filter.size?.contains(facts.size) ?? true)
                    && (filter.modified?.contains(facts.modified) ?? true)
            }.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let whole = try await index.store.search(text, filter: filter)
            #expect(whole.entries.map(\.path) == expected && !whole.isTruncated && !whole.isIncomplete)
            let halves = try await index.store.search(text, in: nil, filter: filter, limit: 1000, halvedFrom: 0)
            #expect(halves.entries.map(\.path) == expected)
            guard expected.count > 1 else { continue }
            let cut = try await index.store.search(text, filter: filter, limit: expected.count - 1)
            #expect(cut.entries.count == expected.count - 1 && cut.isTruncated)
        }
    }

    /// What costs a look at each name ends, and says so; the end of a name costs none.
    @Test(arguments: [0, 7]) func looksAreBounded(looks: Int) async throws {
        let index = try await TestIndex()
        try await index.announce(
            (0..<60).map { file("n\($0).jpg", version((alice, 1)), size: $0 == 59 ? 1 : 2) }, by: alice)
        func search(_ filter: NameFilter, floor: Int64) async throws -> SearchResult {
            try await index.store.search("", in: nil, filter: filter, limit: 1000, looks: looks, halvedFrom: floor)
        }
        for floor in [Int64(0), Int64.max] {
            let large = try await search(.init(size: 2...2), floor: floor)
            #expect(large.isIncomplete && large.entries.count <= 2 * looks)
            let music = try await search(.init(endings: NameFilter.Endings(["mp3"])), floor: floor)
            #expect(!music.isIncomplete && music.entries.isEmpty)
        }
    }
}
