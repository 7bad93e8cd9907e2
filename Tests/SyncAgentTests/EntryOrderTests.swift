import ControlAPI
import Testing

@testable import SyncAgent

/// The order of a listing.
struct EntryOrderTests {
    private func entry(
        _ name: String, size: Int64 = 0, modified: String? = nil, isDirectory: Bool = false
    ) -> Entry {
        Entry(
            kind: isDirectory ? .directory : .file, folder: "f", path: "d/" + name, size: size, modified: modified,
            state: .absent, selected: .no)
    }

    private func names(_ entries: [Entry], _ sort: EntrySort, isDescending: Bool = false) -> [String] {
        EntryOrder(sort: sort, isDescending: isDescending).sorted(entries).map { String($0.path.dropFirst(2)) }
    }

    @Test func namesAreOrderedAsPeopleCount() {
        let ordered = [
            " first", "(a)", "_b", "~c", "1", "02", "2", "2a", "10", "IMG_2", "img_2 b", "IMG_10", "IMG_0100", "Zeta",
            "zeta",
        ]
        #expect(names(ordered.reversed().map { entry($0) }, .natural) == ordered)
        #expect(names(["f", "éb", "Éa b", "d", "öl"].map { entry($0) }, .natural) == ["d", "Éa b", "éb", "f", "öl"])
        #expect(names(["b10", "b9", "B9"].map { entry($0) }, .natural, isDescending: true) == ["b10", "b9", "B9"])
        #expect(names(["b", "a"].map { entry($0) }, .name) == ["b", "a"], "as they come, which is by bytes")
    }

    @Test func longNumbersAreNumbers() {
        let (nines, thousand) = ("x" + String(repeating: "9", count: 254), "x1" + String(repeating: "0", count: 255))
        #expect(names([entry(thousand), entry(nines), entry("x1")], .natural) == ["x1", nines, thousand])
    }

    @Test func directoriesAreFirstAmongNames() {
        let entries = [entry("a"), entry("z", isDirectory: true), entry("b", isDirectory: true), entry("c")]
        #expect(names(entries, .natural) == ["b", "z", "a", "c"])
        #expect(names(entries, .natural, isDescending: true) == ["z", "b", "c", "a"])
    }

    /// A page is cut from places, a listing is of entries: they are alike.
    @Test(arguments: [false, true]) func pagesAreOrderedAsListings(isDescending: Bool) {
        let entries = [
            entry("IMG_10"), entry("img_2", isDirectory: true), entry("IMG_2"), entry("b"), entry("Á"),
            entry("x10", isDirectory: true), entry("x9", isDirectory: true),
        ]
        let texts = entries.map { String($0.path.dropFirst(2)) }
        let places = NaturalOrder.places(
            of: zip(texts, entries).map { ($0, $1.kind == .directory) }, isDescending: isDescending)
        #expect(places.map { texts[$0] } == names(entries, .natural, isDescending: isDescending))
    }

    @Test func beginningsOfNames() {
        func begins(_ name: String, _ text: String) -> Bool { NameBeginning(text).begins(name.utf8) }
        for (name, text) in [
            ("IMG_0007.jpg", "img_0"), ("img_0007.jpg", "IMG"), ("École", "eco"), ("e\u{301}cole", "éc"), ("a", "a"),
            ("ａ", "ａ"), ("Łódź", "lodz"),
        ] {
            #expect(begins(name, text), "\(name) begins with \(text)")
        }
        for (name, text) in [("IMG_0007.jpg", "0007"), ("ab", "abc"), ("", "a"), ("é", "f"), ("[b", "{")] {
            #expect(!begins(name, text), "\(name) does not begin with \(text)")
        }
    }

    @Test func sizesAndTimes() {
        let entries = [
            entry("10", size: 5, modified: "2026-11-21T14:03:05Z"),
            entry("9", size: 5, modified: "2026-11-21T14:03:05.5Z"),
            entry("big", size: 900, modified: nil, isDirectory: true),
            entry("x", size: 7, modified: "2025-01-01T00:00:00Z"),
        ]
        #expect(names(entries, .size, isDescending: true) == ["big", "x", "9", "10"])
        #expect(names(entries, .size) == ["9", "10", "x", "big"])
        #expect(names(entries, .modified, isDescending: true) == ["9", "10", "x", "big"])
        #expect(names(entries, .modified) == ["big", "x", "10", "9"])
    }
}
