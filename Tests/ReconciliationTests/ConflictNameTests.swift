import BlockExchange
import SyncTestKit
import Testing

@testable import Reconciliation

@Suite struct ConflictNameTests {
    /// BLYFFMT, whose copy a real node made (facts/bep-v1.md).
    static let device = ShortID(rawValue: 0x0AF0_52B2_6000_0000)
    /// 2026-11-21 02:03:28.
    static let time = ConflictTime(unixSeconds: 1_795_226_608)

    @Test(arguments: [
        ("hello.txt", "hello.sync-conflict-20261121-020328-BLYFFMT.txt"),
        ("a/b.c/hello.tar.gz", "a/b.c/hello.tar.sync-conflict-20261121-020328-BLYFFMT.gz"),
        ("dir.d/README", "dir.d/README.sync-conflict-20261121-020328-BLYFFMT"),
        (".bashrc", ".sync-conflict-20261121-020328-BLYFFMT.bashrc"),
        ("ends.", "ends.sync-conflict-20261121-020328-BLYFFMT."),
        ("日本/語.été", "日本/語.sync-conflict-20261121-020328-BLYFFMT.été"),
        // A copy's copy is another copy of the original.
        (
            "a/x.sync-conflict-20200101-000000-AAAAAAA.txt", "a/x.sync-conflict-20261121-020328-BLYFFMT.txt"
        ),
        // These only look like one.
        (
            "x.sync-conflict-20200101-000000.txt",
            "x.sync-conflict-20200101-000000.sync-conflict-20261121-020328-BLYFFMT.txt"
        ),
        (
            "x.sync-conflict-2020010a-000000-AAAAAAA.t",
            "x.sync-conflict-2020010a-000000-AAAAAAA.sync-conflict-20261121-020328-BLYFFMT.t"
        ),
    ])
    func copy(name: String, expected: String) {
        #expect(ConflictName.copy(of: name, at: Self.time, by: Self.device) == expected)
    }

    @Test(
        arguments: [
            (0, 0, "19700101-000000"), (951_782_399, 0, "20000228-235959"), (951_782_400, 0, "20000229-000000"),
            (951_868_800, 0, "20000301-000000"), (4_107_542_399, 0, "21000228-235959"),
            (4_107_542_400, 0, "21000301-000000"), (-1, 0, "19691231-235959"),
            (1_795_226_608, 19_800, "20261121-073328"),
            (1_795_226_608, -36_000, "20261120-160328"), (.max, 0, "99991231-235959"), (.min, 0, "00000101-000000"),
            (.max, .max, "99991231-235959"), (.min, .min, "00000101-000000"), (253_402_300_800, 0, "99991231-235959"),
        ] as [(Int64, Int64, String)])
    func time(unixSeconds: Int64, offset: Int64, expected: String) {
        #expect(ConflictTime(unixSeconds: unixSeconds, utcOffset: offset).description == expected)
    }

    @Test func takenNamesMoveTheTimeOn() {
        let taken: Set<String> = [
            "x.sync-conflict-20261121-020328-BLYFFMT.t", "x.sync-conflict-20261121-020329-BLYFFMT.t",
        ]
        let name = ConflictName.copy(of: "x.t", at: Self.time, by: Self.device, isTaken: taken.contains)
        #expect(name == "x.sync-conflict-20261121-020330-BLYFFMT.t")
        // Nothing is free: it ends all the same.
        #expect(ConflictName.isCopy(ConflictName.copy(of: "x.t", at: Self.time, by: Self.device) { _ in true }))
    }

    @Test func longNamesKeepTheirExtensionAndCharacters() throws {
        for seed in UInt64(0)..<200 {
            var random = SeededGenerator(seed: seed)
            let unit = random.pick(["a", "é", "語", "🚆", "👩‍👩‍👧‍👦", "e\u{327}\u{302}"])
            let count = random.int(1...255 / unit.utf8.count)
            let fileExtension = random.pick(["", ".txt", ".語", "." + String(repeating: "x", count: 230)])
            let stem = String(repeating: unit, count: count)
            guard stem.utf8.count + fileExtension.utf8.count <= 255 else { continue }
            let name = "d/" + stem + fileExtension
            let copy = ConflictName.copy(of: name, at: Self.time, by: Self.device)
            let component = copy.dropFirst(2)
            #expect(component.utf8.count <= 255, "seed \(seed)")
            #expect(ConflictName.isCopy(copy), "seed \(seed)")
            let tag = ".sync-conflict-20261121-020328-BLYFFMT"
            let kept = try #require(component.firstRange(of: tag), "seed \(seed)")
            let rest = component[..<kept.lowerBound]
            if fileExtension.utf8.count <= 5 {
                #expect(component[kept.upperBound...] == fileExtension, "seed \(seed)")
                // Whole units only, and no more was cut than needed.
                #expect(String(repeating: unit, count: rest.count) == rest, "seed \(seed)")
                #expect(rest.count == count || component.utf8.count + unit.utf8.count > 255, "seed \(seed)")
            } else {
                #expect((stem + fileExtension).hasPrefix(rest), "seed \(seed)")
            }
            // Copies do not grow.
            #expect(ConflictName.copy(of: copy, at: Self.time, by: Self.device).utf8.count <= copy.utf8.count)
        }
    }

    @Test func aCharacterThatFillsTheNameIsCutAtAScalar() {
        let stem = "a" + String(repeating: "\u{301}", count: 125)
        let copy = ConflictName.copy(of: stem + ".t", at: Self.time, by: Self.device)
        #expect(copy.utf8.count <= 255)
        #expect(copy.unicodeScalars.starts(with: "a\u{301}\u{301}".unicodeScalars))
    }

    @Test func excess() {
        let siblings = [
            "d/a.sync-conflict-20200101-000000-AAAAAAA.t", "d/a.sync-conflict-20210101-000000-AAAAAAA.t",
            "d/a.sync-conflict-20220101-000000.t", "d/ab.sync-conflict-20190101-000000-AAAAAAA.t",
            "d/a.sync-conflict-20190101-000000-AAAAAAA.u", "d/a.t", "d/a.sync-conflict-t",
            "d/a.sync-conflict-20190101/000000-AAAAAAA.t",
        ]
        #expect(
            ConflictName.copies(of: "d/a.t", among: siblings)
                == ["d/a.sync-conflict-20200101-000000-AAAAAAA.t", "d/a.sync-conflict-20210101-000000-AAAAAAA.t"])
        // In the order in which they came to this disk, and by name where that is not known.
        let copies = [("b", 2), ("a", 3), ("d", 1), ("c", 1)].map { (name: $0.0, seen: $0.1) }
        func excess(besides made: String, limit: Int) -> [String] {
            ConflictName.excess(among: copies, besides: made, limit: limit)
        }
        #expect(excess(besides: "a", limit: -1) == [])
        #expect(excess(besides: "a", limit: 4) == [])
        #expect(excess(besides: "a", limit: 2) == ["d", "c"])
        // What was made last stays, and counts, whatever its time.
        #expect(excess(besides: "c", limit: 2) == ["b", "d"])
        #expect(excess(besides: "c", limit: 0) == ["a", "b", "d"])
        #expect(excess(besides: "other", limit: 2) == ["d", "c"])
    }

    /// The stem of a long name is cut, and the file is found again by what its copy would be called.
    @Test(arguments: [".t", "", ".语", "." + String(repeating: "x", count: 230)])
    func theCopyOfALongNameIsThatFiles(fileExtension: String) {
        let stem = String(repeating: "é", count: (255 - fileExtension.utf8.count) / 2)
        let name = "d/\(stem)\(fileExtension)"
        let copy = ConflictName.copy(of: name, at: Self.time, by: Self.device)
        let older = ConflictName.copy(of: name, at: ConflictTime(unixSeconds: 1_000_000_000), by: Self.device)
        let siblings = [copy, "d/short\(fileExtension)", older, name]
        #expect(ConflictName.mayBeCut(copy) && ConflictName.original(of: copy) != name)
        #expect(ConflictName.original(of: copy, among: siblings) == name)
        #expect(ConflictName.original(of: older, among: siblings) == name)
        #expect(ConflictName.winner(of: copy) == "BLYFFMT")
        #expect(ConflictName.copies(of: name, among: siblings) == [copy, older])
        #expect(ConflictName.copies(of: name, among: [copy, older]) == [copy, older], "before it is there")
        #expect(ConflictName.copies(of: "d/short\(fileExtension)", among: siblings) == [])
        #expect(ConflictName.original(of: copy, among: [copy, older]) == ConflictName.original(of: copy))
    }

    @Test func aCopyThatMayBeOfTwoLongNamesIsAttributedToNeither() {
        let stem = String(repeating: "a", count: 240)
        let copy = ConflictName.copy(of: "\(stem)1.t", at: Self.time, by: Self.device)
        let siblings = [copy, "\(stem)1.t", "\(stem)2.t"]
        #expect(ConflictName.original(of: copy, among: siblings) == ConflictName.original(of: copy))
        #expect(ConflictName.copies(of: "\(stem)1.t", among: siblings) == [])
    }

    @Test func original() {
        #expect(ConflictName.original(of: "d/a.sync-conflict-20200101-000000-AAAAAAA.t") == "d/a.t")
        #expect(ConflictName.original(of: ".sync-conflict-20200101-000000-AAAAAAA.bashrc") == ".bashrc")
        #expect(ConflictName.original(of: ".sync-conflict-20200101-000000-AAAAAAA") == nil)
        #expect(ConflictName.original(of: "d/a.sync-conflict-20200101-000000-AAAAAAA") == "d/a")
        #expect(ConflictName.original(of: "a.t") == nil)
        #expect(ConflictName.original(of: "d/..sync-conflict-20200101-000000-AAAAAAA") == nil)
        #expect(ConflictName.original(of: "...sync-conflict-20200101-000000-AAAAAAA") == nil)
        #expect(ConflictName.original(of: "....sync-conflict-20200101-000000-AAAAAAA") == "...")
        #expect(ConflictName.original(of: "a.sync-conflict-20200101-000000-AAAAAA1.t") == nil)
    }
}
