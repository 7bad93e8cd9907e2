import SyncTestKit
import Testing

@testable import FileAccess

/// Spellings on a disk that distinguishes upper and lower case. Disks that do not are in Tests/Interop/test_folding.py.
struct CaseFoldingTests {
    private let directory: TemporaryTree

    init() throws { directory = try TemporaryTree() }

    @Test(
        arguments: [
            ("a", "A"), ("1.txt", "1.Txt"), ("ä", "Ä"), ("Ä", "ä"), ("äb", "äB"), ("12 34", nil), ("日本", nil),
            ("", nil),
        ] as [(String, String?)])
    func oneLetterIsInItsOtherCase(_ name: String, _ variant: String?) {
        #expect(Directory.caseVariant(of: name) == variant)
    }

    @Test func namesOfBothCasesAreTwoNames() throws {
        try directory.write("", to: ".stfolder")
        try directory.write("one", to: "a")
        try directory.write("two", to: "A")
        let root = try RootDirectory(path: directory.root.path)
        try root.learnDisk(marker: ".stfolder")
        #expect(root.traits == DiskTraits())
        let top = try root.directory(nil)
        #expect(try top.spelling(of: "a") == .exact)
        #expect(try top.spelling(of: "A") == .exact)
        #expect(try top.spelling(of: "b") == nil)
        #expect(try root.twin(of: relative("a")) == nil)
    }

    /// A guess could have files of two names written to one.
    @Test func aDiskThatWasNotAskedIsNoAnswer() throws {
        let root = try RootDirectory(path: directory.root.path)
        #expect(failure { try root.learnDisk(marker: ".stfolder") }?.code == .notFound)
        try directory.write("", to: ".stfolder")
        try root.learnDisk(marker: ".stfolder")
        #expect(!root.traits.foldsCase)
    }

    @Test(
        arguments: [
            (".STIGNORE", ".stignore"), (".StVersions/old", ".stversions"), (".stfolder", nil), (".stfolder2", nil),
            ("a", nil),
        ] as [(String, String?)])
    func theAgentsOwnNamesHaveTwins(_ name: String, _ twin: String?) throws {
        #expect(try relative(name).internalTwin?.text == twin)
    }

    @Test(
        arguments: [
            ((7, 123_456_789), (7, 123_456_789), 1, true), ((7, 123_456_789), (7, 123_456_700), 100, true),
            ((7, 123_456_789), (7, 123_456_700), 1, false), ((7, 123_456_789), (7, 120_000_000), 20_000_000, true),
            ((7, 123_456_789), (7, 0), 0, true), ((7, 123_456_789), (7, 0), nil, true),
            ((7, 123_456_789), (7, 0), 5, false),
            ((7, 123_456_789), (6, 0), 0, true), ((7, 123_456_789), (6, 0), 5, false),
            ((6, 123_456_789), (5, 0), 0, false),
            ((7, 123_456_789), (7, 130_000_000), 0, false), ((7, 0), (8, 0), 0, false), ((8, 0), (6, 0), 0, false),
            ((7, 0), (6, 1), 0, false), ((.min, 0), (.max, 0), 0, false),
            // Before 1980 and after 2107, in UTC, two hours east and a quarter to six west.
            ((86_400, 5), (315_532_800, 0), 0, true), ((.min, 0), (315_525_600, 0), nil, true),
            ((86_400, 0), (315_553_500, 0), 0, true), ((86_400, 0), (315_532_800, 0), 5, false),
            ((86_400, 0), (315_532_801, 0), 0, false), ((86_400, 0), (315_532_800, 10_000_000), 0, false),
            ((86_400, 0), (315_590_400, 0), 0, false), ((400_000_000, 0), (315_532_800, 0), 0, false),
            ((.max, 0), (4_354_819_198, 0), 0, true), ((.max, 0), (4_354_819_199, 0), 0, true),
            ((.max, 0), (4_354_819_190, 0), 0, false), ((7, 0), (4_354_819_198, 0), 0, false),
            // Before 1901 and after 2038, 2446 and 2486: ext4 and XFS.
            ((-11_644_473_600, 5), (-2_147_483_648, 0), 789, true), ((.min, 0), (-2_147_483_648, 0), nil, true),
            ((-11_644_473_600, 0), (-2_147_483_648, 1), 789, false), ((7, 0), (-2_147_483_648, 0), 789, false),
            ((.max, 0), (15_032_385_535, 0), 789, true), ((.max, 0), (15_032_385_534, 0), 789, false),
            ((2_147_483_648, 5), (2_147_483_647, 0), 789, true), ((7, 0), (2_147_483_647, 0), 789, false),
            ((16_299_260_425, 0), (16_299_260_424, 0), 789, true),
        ] as [((Int64, Int32), (Int64, Int32), Int32?, Bool)])
    func disksKeepTimesInTheirSteps(
        _ told: (Int64, Int32), _ shown: (Int64, Int32), _ changed: Int32?, _ isKept: Bool
    ) {
        let time = FileTime(seconds: told.0, nanoseconds: told.1)
        let beside = changed.map { FileTime(seconds: 9, nanoseconds: $0) }
        #expect(time.isKept(as: FileTime(seconds: shown.0, nanoseconds: shown.1), beside: beside) == isKept)
    }

    @Test func claimingReplacesNothing() throws {
        try directory.write("one", to: "a")
        try directory.write("two", to: "b")
        try directory.makeDirectory("d")
        try directory.write("in d", to: "d/x")
        let root = try RootDirectory(path: directory.root.path)
        let top = try root.directory(nil)
        #expect(failure { try top.moveByClaiming("a", to: "b", in: top) }?.code == .exists)
        #expect(failure { try top.moveByClaiming("d", to: "a", in: top) }?.code == .exists)
        #expect(failure { try top.moveByClaiming("x", to: "y", in: top) }?.code == .notFound)
        #expect(directory.names() == ["a", "b", "d"])
        #expect(directory.text("b") == "two")
        try top.moveByClaiming("a", to: "c", in: top)
        try top.moveByClaiming("d", to: "e", in: top)
        #expect(directory.text("c") == "one")
        #expect(directory.text("e/x") == "in d")
        #expect(directory.names() == ["b", "c", "e"])
    }
}
