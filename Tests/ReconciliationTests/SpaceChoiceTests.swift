import Reconciliation
import Testing

@Suite struct SpaceChoiceTests {
    private static let day: Int64 = 86_400
    private static let now = 1000 * day

    /// Names with sizes and the days since they were used.
    private static let files: [(String, Int64, Int64)] = [
        ("film", 4000, 100), ("series", 3000, 10), ("photo", 5, 900), ("disk image", 9000, 1), ("empty", 0, 999),
        ("note", 1, 0),
    ]

    private func choose(
        _ wanted: Int64, _ files: [(String, Int64, Int64)] = files, unusedFor days: Int64? = nil
    ) -> [String] {
        SpaceChoice.choose(
            files.map { SpaceCandidate(name: $0.0, size: $0.1, lastUsed: Self.now - $0.2 * Self.day) }, toFree: wanted,
            unusedFor: days.map { $0 * Self.day }, now: Self.now
        ).map(\.name)
    }

    @Test(
        arguments: [
            (0, nil, []), (-5, nil, []), (1, nil, ["film"]), (4000, nil, ["film"]), (4001, nil, ["film", "series"]),
            (7001, nil, ["disk image"]), (12_500, nil, ["film", "disk image"]),
            (100_000, nil, ["film", "series", "disk image", "photo", "note"]),
            (1, 50, ["film"]), (4001, 50, ["film", "photo"]), (5000, 50, ["film", "photo"]), (1, 950, []),
            (5, 900, ["photo"]),
        ] as [(Int64, Int64?, [String])])
    func picksLargeAndUnused(wanted: Int64, days: Int64?, expected: [String]) {
        #expect(Set(choose(wanted, unusedFor: days)) == Set(expected))
    }

    @Test func equalsGoByName() {
        #expect(choose(1, [("b", 10, 5), ("a", 10, 5)]) == ["a"])
        #expect(choose(20, [("b", 10, 5), ("a", 10, 5)]) == ["a", "b"])
    }

    @Test func wrongClocksAndSizesDoNoHarm() {
        let odd = [
            SpaceCandidate(name: "future", size: 10, lastUsed: .max),
            SpaceCandidate(name: "past", size: 10, lastUsed: .min),
            SpaceCandidate(name: "huge", size: .max, lastUsed: 0),
            SpaceCandidate(name: "negative", size: -4, lastUsed: 0),
        ]
        #expect(
            Set(SpaceChoice.choose(odd, toFree: .max, now: 5).map(\.name)).isSubset(of: ["future", "past", "huge"]))
        #expect(SpaceChoice.choose(odd, toFree: 1, unusedFor: 1, now: 5).map(\.name).contains("future") == false)
    }

    /// Enough goes where there is enough, and nothing that is not needed.
    @Test(arguments: 1...200 as ClosedRange<UInt64>) func enoughAndNotMore(seed: UInt64) {
        var random = seed
        func next(_ bound: UInt64) -> Int64 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64((random >> 33) % bound)
        }
        let files = (0..<Int(next(12) + 1)).map { ("f\($0)", next(100), next(50)) }
        let total = files.reduce(0) { $0 + $1.1 }
        let wanted = next(600) + 1
        let chosen = choose(wanted, files)
        let sizes = chosen.map { name in files.first { $0.0 == name }?.1 ?? 0 }
        let sum = sizes.reduce(0, +)
        #expect(sum >= min(wanted, total))
        for size in sizes where total >= wanted { #expect(sum - size < wanted) }
    }
}
