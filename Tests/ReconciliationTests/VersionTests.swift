import Reconciliation
import SyncTestKit
import Testing

@Suite struct VersionTests {
    private static let minute: Int64 = 60
    private static let hour: Int64 = 3600
    private static let day: Int64 = 86_400

    struct Case: CustomTestStringConvertible {
        var rules: VersionRules
        /// Ages in seconds.
        var ages: [Int64]
        var dropped: [Int64]
        var testDescription: String { "\(rules) \(ages)" }
    }

    @Test(arguments: [
        Case(rules: .trashcan(cleanoutDays: 0), ages: [0, 10_000 * day], dropped: []),
        Case(rules: .trashcan(cleanoutDays: 1), ages: [day, day + 1, -5], dropped: [day + 1]),
        Case(rules: .simple(keep: 2, cleanoutDays: 0), ages: [5, 1, 9, 7], dropped: [9, 7]),
        Case(rules: .simple(keep: 5, cleanoutDays: 0), ages: [5, 1, 9, 7], dropped: []),
        Case(rules: .simple(keep: 0, cleanoutDays: 0), ages: [5, 1], dropped: [5]),
        Case(
            rules: .simple(keep: 3, cleanoutDays: 2), ages: [1, day, 2 * day + 1, 3 * day],
            dropped: [3 * day, 2 * day + 1]),
        // One in 30 seconds of the last hour: counted from the oldest, which stays.
        Case(rules: .staggered(maximumAgeDays: 0), ages: [100, 80, 60, 40, 20, 0], dropped: [80, 40, 0]),
        Case(rules: .staggered(maximumAgeDays: 0), ages: [31, 1], dropped: []),
        Case(rules: .staggered(maximumAgeDays: 0), ages: [30, 1], dropped: [1]),
        // One in an hour of the last day, one in a day of the last 30, then one in a week.
        Case(
            rules: .staggered(maximumAgeDays: 0), ages: [5 * hour, 4 * hour + minute, 4 * hour, 2 * hour],
            dropped: [4 * hour + minute]),
        Case(
            rules: .staggered(maximumAgeDays: 0), ages: [5 * day, 4 * day + hour, 4 * day, 2 * day],
            dropped: [4 * day + hour]),
        Case(
            rules: .staggered(maximumAgeDays: 0), ages: [60 * day, 54 * day, 53 * day, 40 * day], dropped: [54 * day]),
        Case(rules: .staggered(maximumAgeDays: 365), ages: [366 * day, 365 * day, 3 * day], dropped: [366 * day]),
        Case(rules: .staggered(maximumAgeDays: 365), ages: [], dropped: []),
        // Times of files may be any number.
        Case(rules: .staggered(maximumAgeDays: 0), ages: [100 * day, .min], dropped: []),
        Case(rules: .staggered(maximumAgeDays: 0), ages: [.max, 0, .min], dropped: []),
        Case(rules: .staggered(maximumAgeDays: 36_500), ages: [.max, 0, .min], dropped: [.max]),
        // What comes from the future is older than all else; what goes a few seconds ahead is not.
        Case(rules: .simple(keep: 1, cleanoutDays: 1), ages: [.max, 0, .min], dropped: [.max, .min]),
        Case(rules: .simple(keep: 2, cleanoutDays: 0), ages: [-hour, -2 * hour, 5, 0], dropped: [-hour, -2 * hour]),
        Case(rules: .simple(keep: 2, cleanoutDays: 0), ages: [5, 0, -2], dropped: [5]),
    ])
    func dropsWhatTheRulesDoNotKeep(_ example: Case) {
        let dropped = example.rules.dropped(ages: example.ages).map { example.ages[$0] }
        #expect(dropped.sorted() == example.dropped.sorted())
    }

    @Test(arguments: [VersionRules.simple(keep: 2, cleanoutDays: 1), .staggered(maximumAgeDays: 1)])
    func whatCameLastStaysWhateverItsAge(_ rules: VersionRules) {
        for age in [Int64.min, -Self.hour, 0, 1, Self.hour, 3 * Self.day, .max] {
            let dropped = rules.dropped(ages: [0, 10, 20, age], keeping: [3])
            #expect(!dropped.contains(3) && dropped.contains(1), "\(age)")
        }
    }

    /// What is left is left by another look at the same time, and something is left of what is young enough.
    @Test func droppingEndsAndLeavesSomething() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let rules: VersionRules = random.pick([
                .trashcan(cleanoutDays: 30), .simple(keep: random.int(1...5), cleanoutDays: 30),
                .staggered(maximumAgeDays: 30),
            ])
            let ages = (0..<random.int(0...30)).map { _ in
                Int64(random.int(0...(random.isOne(in: 2) ? 4000 : 40 * 86_400)))
            }
            let dropped = Set(rules.dropped(ages: ages))
            let left = ages.indices.filter { !dropped.contains($0) }.map { ages[$0] }
            #expect(rules.dropped(ages: left).isEmpty, "\(rules) \(ages)")
            if ages.contains(where: { $0 <= 30 * Self.day }) { #expect(!left.isEmpty, "\(rules) \(ages)") }
        }
    }

    private static let time = ConflictTime(unixSeconds: 1_795_289_512)

    @Test(arguments: [
        ("a.txt", "a~20261121-193152.txt"), ("d/a.tar.gz", "d/a.tar~20261121-193152.gz"), ("a", "a~20261121-193152"),
        (".bashrc", "~20261121-193152.bashrc"), ("d.e/a", "d.e/a~20261121-193152"), ("a.", "a~20261121-193152."),
        ("a~b.txt", "a~b~20261121-193152.txt"),
    ])
    func namesAreSyncthings(name: String, tagged: String) throws {
        #expect(VersionName.tagged(name, at: Self.time) == tagged)
        let parsed = try #require(VersionName.parse(tagged))
        #expect(parsed.original == name)
        #expect(parsed.time == Self.time)
    }

    @Test(arguments: [
        "a.txt", "a~2026112-193152.txt", "a~20261121-193152x.txt", "a~20261321-193152.txt", "a~20260230-193152.txt",
        "a~20261121-243152.txt", "~20261121-193152", "", "a20261121-193152.txt", "d~20261121-193152/a",
    ])
    func otherNamesAreNoVersions(_ name: String) { #expect(VersionName.parse(name) == nil) }

    @Test func aLongNameIsCutAtACharacter() throws {
        let name = String(repeating: "ä", count: 127) + ".x"
        let tagged = VersionName.tagged(name, at: Self.time)
        #expect(tagged.utf8.count <= 255)
        #expect(tagged.wholeMatch(of: /ä+-[0-9a-f]{12}~20261121-193152\.x/) != nil)
    }

    /// Two names of which the same is left have versions of their own.
    @Test(arguments: ["", ".t", ".语", "." + String(repeating: "x", count: 245)])
    func versionsOfALongNameAreOfNoOther(fileExtension: String) throws {
        let stem = String(repeating: "a", count: 254 - fileExtension.utf8.count)
        var families: Set<String> = []
        for last in ["1", "2"] {
            let name = "d/" + stem + last + fileExtension
            let tagged = VersionName.tagged(name, at: Self.time)
            #expect(tagged.utf8.count <= 257)
            let parsed = try #require(VersionName.parse(tagged))
            #expect(parsed.time == Self.time && parsed.original == VersionName.family(of: name))
            #expect(VersionName.family(of: parsed.original) == parsed.original && VersionName.mayBeCut(parsed.original))
            families.insert(parsed.original)
        }
        #expect(families.count == 2)
        // The longest name that is not cut.
        let whole = "d/" + String(repeating: "a", count: 237) + ".t"
        #expect(VersionName.family(of: whole) == whole && !VersionName.mayBeCut(whole))
        #expect(VersionName.parse(VersionName.tagged(whole, at: Self.time))?.original == whole)
    }

    @Test func timesAreReadAsTheyAreWritten() {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<2000 {
            let time = ConflictTime(unixSeconds: Int64(random.int(-62_167_219_200...253_402_300_799)))
            #expect(ConflictTime(time.description) == time)
        }
        // Local time, an hour ahead in winter and two in summer.
        let offset: (Int64) -> Int64 = { $0 < 1_774_746_000 ? 3600 : 7200 }
        for seconds: Int64 in [1_774_740_000, 1_774_745_999, 1_774_746_000, 1_780_000_000] {
            let time = ConflictTime(unixSeconds: seconds, utcOffset: offset(seconds))
            #expect(time.unixSeconds(utcOffset: offset) == seconds)
        }
    }

    /// In whatever zone the name was written, the disk's time of it says in which.
    @Test func theDiskSaysInWhichZoneATimeWas() {
        let (now, hour) = (Int64(1_795_289_512), Int64(3600))
        for offset in [-12 * hour, -8 * hour, -hour * 7 / 2, 0, hour, hour * 23 / 4, 9 * hour, 14 * hour] {
            let time = ConflictTime(unixSeconds: now, utcOffset: offset)
            for late in Int64(0)...10 {
                #expect(time.unixSeconds(utcOffset: { _ in -8 * 3600 }, changed: now + late) == now)
            }
            // What was changed later says nothing, nor does what says nothing.
            for changed in [nil, now + 300, now + 30 * hour, .min, .max] {
                #expect(time.unixSeconds(utcOffset: { _ in -8 * 3600 }, changed: changed) == now + offset + 8 * hour)
            }
        }
        // The hour that comes twice when summer time ends: 2026-10-25 02:30 in Berlin.
        let end: Int64 = 1_792_890_000
        for (seconds, offset) in [(end - 1800, 2 * hour), (end + 1800, hour)] {
            let time = ConflictTime(unixSeconds: seconds, utcOffset: offset)
            #expect(time.description == "20261025-023000")
            #expect(time.unixSeconds(utcOffset: { $0 < end ? 7200 : 3600 }, changed: seconds + 1) == seconds)
        }
    }
}
