import BlockExchange
import SyncTestKit
import Testing

@testable import IndexStore

@Suite struct BrowseTests {
    private static func index() async throws -> TestIndex {
        let index = try await TestIndex()
        try await index.announce(
            [
                directory("Photos", version((alice, 1))), file("Photos/Summer 2024/beach.JPG", version((alice, 1))),
                file("Photos/Summer 2024/Straße.jpg", version((alice, 1))),
                file("Photos/ÄRGER.txt", version((alice, 1))),
                file("notes.txt", version((alice, 1)), size: 5), file("old/gone.jpg", version((alice, 1))),
                file("photos-of-x/a", version((alice, 1))),
            ], by: alice)
        try await index.announce([deleted("old/gone.jpg", version((alice, 2)))], by: bob)
        return index
    }

    @Test func childrenAreListedWithWhatIsBelow() async throws {
        let index = try await Self.index()
        let children = try await index.store.children(music)
        #expect(children.map(\.path) == ["Photos", "notes.txt", "photos-of-x"])
        #expect(children.map(\.isDirectory) == [true, false, true])
        #expect(children[0].below == Aggregate(files: 3, bytes: 30))
        #expect(children[2].file == nil && children[2].below.files == 1)
        #expect(try await index.store.children(music, of: "Photos").map(\.name) == ["Summer 2024", "ÄRGER.txt"])
        #expect(try await index.store.children(music, of: "nowhere") == [])
        #expect(try await index.store.children(music, of: "old") == [])
    }

    @Test(arguments: 1...4) func pagesOfChildrenJoin(limit: Int) async throws {
        let index = try await Self.index()
        let all = try await index.store.children(music).map(\.path)
        var paged: [String] = []
        while case let page = try await index.store.children(music, after: paged.last, limit: limit), !page.isEmpty {
            #expect(page.count <= limit)
            paged += page.map(\.path)
        }
        #expect(paged == all)
    }

    @Test func rootAndDeletedNamesCanBeAsked() async throws {
        let index = try await Self.index()
        #expect(try await index.store.global(music, "")?.below.files == 5)
        let gone = try await index.store.global(music, "old/gone.jpg")
        #expect(gone?.file?.isDeleted == true && gone?.isPresent == false && gone?.holders == [bob])
        #expect(gone?.isDirectory == false)
        #expect(try await index.store.global(music, "")?.isDirectory == true)
        #expect(try await index.store.global(music, "never") == nil)
        #expect(try await index.store.global(music, "notes.txt/below") == nil)
    }

    @Test(arguments: 1...6) func pagesOfDescendantsJoin(limit: Int) async throws {
        let index = try await Self.index()
        for directory in ["", "Photos", "Photos/Summer 2024", "notes.txt", "nowhere"] {
            let all = try await index.store.descendants(music, of: directory, limit: 100).map(\.path)
            var paged: [String] = []
            while true {
                let page = try await index.store.descendants(music, of: directory, after: paged.last, limit: limit)
                if page.isEmpty { break }
                paged += page.map(\.path)
            }
            #expect(paged == all)
        }
    }

    /// The entry a page ended with may be gone, with its directory, before the next is asked for.
    @Test func pagesGoOnAfterAVanishedEntry() async throws {
        let index = try await Self.index()
        let rest = try await index.store.descendants(music, after: "Photos/Summer 2023/x/y", limit: 100).map(\.path)
        #expect(rest.first == "Photos/Summer 2024" && rest.last == "photos-of-x/a")
        #expect(try await index.store.descendants(music, after: "zzz", limit: 100) == [])
    }

    @Test(
        arguments: [
            ("beach", ["Photos/Summer 2024/beach.JPG"]), ("BEACH.jpg", ["Photos/Summer 2024/beach.JPG"]),
            ("summer", ["Photos/Summer 2024"]), ("ärger", ["Photos/ÄRGER.txt"]), ("STRASSE", []),
            ("straße", ["Photos/Summer 2024/Straße.jpg"]), ("gone", []), ("", nil),
            ("os/sum", ["Photos/Summer 2024", "Photos/Summer 2024/Straße.jpg", "Photos/Summer 2024/beach.JPG"]),
            ("2024/b", ["Photos/Summer 2024/beach.JPG"]), ("otos/ä", ["Photos/ÄRGER.txt"]), ("notes/", []),
            (
                "photos/",
                [
                    "Photos/Summer 2024", "Photos/Summer 2024/Straße.jpg", "Photos/Summer 2024/beach.JPG",
                    "Photos/ÄRGER.txt",
                ]
            ),
            ("S/SUMMER 2024/B", ["Photos/Summer 2024/beach.JPG"]), ("photos", ["Photos", "photos-of-x"]),
        ] as [(String, [String]?)]) func searches(text: String, expected: [String]?) async throws
    {
        let index = try await Self.index()
        let result = try await index.store.search(text)
        let all = try await index.store.descendants(music, limit: 100).map(\.path)
        #expect(Set(result.entries.map(\.path)) == Set(expected ?? all))
        #expect(
            result.entries.map(\.path)
                == result.entries.map(\.path).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(!result.isTruncated)
    }

    @Test func searchEndsAtItsLimit() async throws {
        let index = try await Self.index()
        let all = try await index.store.search("t").entries.count
        let exact = try await index.store.search("t", limit: all)
        #expect(exact.entries.count == all && !exact.isTruncated)
        let short = try await index.store.search("t", limit: all - 1)
        #expect(short.entries.count == all - 1 && short.isTruncated)
    }

    /// A name has all words, in any order; a text with a slash is looked for as it stands.
    @Test(
        arguments: [
            ("lisbon tram", ["Tram 28 in Lisbon.jpg", "trips/tram LISBON"]),
            ("tram lisbon", ["Tram 28 in Lisbon.jpg", "trips/tram LISBON"]),
            ("  porto  ", ["Porto"]), (" ", ["Tram 28 in Lisbon.jpg", "trips/tram LISBON", "Crème brûlée, café.txt"]),
            ("cafe brulee", ["Crème brûlée, café.txt"]), ("tram porto", []),
            ("trips/tram l", ["trips/tram LISBON"]), ("trips/lisbon tram", []),
        ] as [(String, [String])])
    func wordsAreFoundInAnyOrder(_ text: String, _ expected: [String]) async throws {
        let index = try await TestIndex()
        let names = ["Tram 28 in Lisbon.jpg", "trips/tram LISBON", "Crème brûlée, café.txt", "Porto"]
        try await index.announce(names.map { file($0, version((alice, 1))) }, by: alice)
        let found = try await index.store.search(text, limit: 10).entries.map(\.path)
        #expect(Set(found) == Set(expected), "\(found)")
    }

    /// Search by name and by path against plain substring tests, over random names.
    @Test(arguments: 0..<6) func searchesLikeASubstring(seed: UInt64) async throws {
        let index = try await TestIndex()
        var random = SeededGenerator(seed: seed &+ 77)
        let letters = ["a", "A", "b", "@", "`", "Z", "{", "ß", "Ü", "ü", "1"]
        func text(_ length: ClosedRange<Int>) -> String {
            (0..<Int.random(in: length, using: &random)).compactMap { _ in letters.randomElement(using: &random) }
                .joined()
        }
        let files = (0..<150).map { _ in
            file(
                (0..<Int.random(in: 1...4, using: &random)).map { _ in text(1...25) }.joined(separator: "/"),
                version((alice, 1)))
        }
        try await index.announce(files, by: alice)
        let all = try await index.store.descendants(music, limit: 10_000).map(\.path)
        for _ in 0..<60 {
            let needle = Bool.random(using: &random) ? text(1...3) : text(0...2) + "/" + text(0...2)
            let folded = Array(needle.lowercased().utf8)
            let expected = all.filter { path in
                let place = needle.contains("/") ? path : path.split(separator: "/").last.map(String.init) ?? ""
                let bytes = Array(place.lowercased().utf8)
                return bytes.count >= folded.count
                    && (0...bytes.count - folded.count).contains { bytes[$0...].starts(with: folded) }
            }
            let found = try await index.store.search(needle, limit: 10_000).entries.map(\.path)
            #expect(Set(found.map { Array($0.utf8) }) == Set(expected.map { Array($0.utf8) }), "\(needle)")
            // In halves, as a large index is searched, it comes to the same.
            let halves = try await index.store.search(needle, in: nil, limit: 10_000, halvedFrom: 0)
            #expect(halves.entries.map(\.path) == found && !halves.isTruncated)
            if found.count > 1 {
                let part = try await index.store.search(needle, in: nil, limit: found.count - 1, halvedFrom: 0)
                #expect(part.entries.count == found.count - 1 && part.isTruncated)
            }
        }
    }
}
