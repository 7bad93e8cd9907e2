import BlockExchange
import Cryptography
import SyncTestKit
import Testing

@testable import Reconciliation

@Suite struct CaseClashTests {
    typealias S = Sample

    private static var rules: FolderRules {
        var rules = S.rules()
        rules.renamesCaseClashes = true
        return rules
    }

    private static let upper = S.file("upper", S.version((S.other, 1)), name: "d/Photo.JPG")
    private static let lower = S.file("lower", S.version((S.third, 1)), name: "d/photo.jpg")

    private static func coming(_ file: FileInfo, isRenamable: Bool = true) -> CaseClash.Side {
        CaseClash.Side(local: nil, global: file, isRenamable: isRenamable)
    }

    private static func present(
        _ file: FileInfo, _ flags: LocalVersion.Flags = [], global: FileInfo? = nil, isRenamable: Bool = true
    ) -> CaseClash.Side {
        CaseClash.Side(local: S.here(file, flags), global: global ?? file, isRenamable: isRenamable)
    }

    private static func loser(
        _ newcomer: CaseClash.Side, _ occupant: CaseClash.Side, _ rules: FolderRules = rules
    ) -> CaseClash.Loser? {
        CaseClash.loser(newcomer: newcomer, occupant: occupant, rules: rules)
    }

    // MARK: who gives way

    @Test func theNameThatSortsLaterGivesWayWhicheverCameFirst() {
        #expect(Self.loser(Self.coming(Self.lower), Self.present(Self.upper)) == .newcomer)
        #expect(Self.loser(Self.coming(Self.upper), Self.present(Self.lower)) == .occupant)
    }

    @Test func onlyFilesOfFoldersThatSendAndReceiveGiveWay() {
        let (upper, lower) = (Self.upper, Self.lower)
        var keeping = Self.rules
        keeping.renamesCaseClashes = false
        #expect(Self.loser(Self.coming(lower), Self.present(upper), keeping) == nil)
        for kind in [FolderKind.sendOnly, .receiveOnly] {
            var rules = Self.rules
            rules.kind = kind
            #expect(Self.loser(Self.coming(lower), Self.present(upper), rules) == nil)
        }
        #expect(Self.loser(Self.coming(lower, isRenamable: false), Self.present(upper)) == nil)
        #expect(Self.loser(Self.coming(lower), Self.present(upper, isRenamable: false)) == nil)
        let others = [
            S.directory(upper.version, name: upper.name), S.symlink("x", upper.version, name: upper.name),
            S.tombstone(upper.version, name: upper.name),
        ]
        for other in others {
            #expect(Self.loser(Self.coming(lower), Self.present(other)) == nil)
            #expect(Self.loser(Self.coming(other), Self.present(lower)) == nil)
        }
        var invalid = upper
        invalid.isInvalid = true
        #expect(Self.loser(Self.coming(invalid), Self.present(lower)) == nil)
    }

    @Test func whatIsNotInStepIsSettledFirst() {
        let newer = S.file("newer", S.version((S.other, 2)), name: Self.upper.name)
        #expect(Self.loser(Self.coming(Self.lower), Self.present(Self.upper, global: newer)) == nil)
        for flags in [LocalVersion.Flags.ignored, .mustRescan, .unsupported, .receiveOnlyChanged] {
            #expect(Self.loser(Self.coming(Self.lower), Self.present(Self.upper, flags)) == nil)
        }
        let both = CaseClash.Side(local: S.here(Self.lower), global: Self.lower, isRenamable: true)
        #expect(Self.loser(both, Self.present(Self.upper)) == nil)
    }

    /// A process that dies after the rename leaves the deletion to a scan, and these would insist on it.
    @Test func policiesForDeletionsKeepWhatIsHere() {
        for policy in ConflictPolicy.allCases {
            var rules = Self.rules
            rules.deletionPolicy = policy
            let keeps = policy == .mine || policy == .command
            #expect(Self.loser(Self.coming(Self.lower), Self.present(Self.upper), rules) == .newcomer)
            #expect(Self.loser(Self.coming(Self.upper), Self.present(Self.lower), rules) == (keeps ? nil : .occupant))
        }
    }

    private static func dueClashes() -> (String, [VersionVector], Int64, MonotonicTime) -> Bool {
        var known = KnownClashes()
        return { name, versions, seconds, now in known.isDue(name, versions, after: seconds, at: now) }
    }

    /// The deletion that belongs to a new name may come later.
    @Test func halfOfARenameIsWaitedFor() {
        let same = S.file("upper", S.version((S.third, 1)), name: Self.lower.name)
        #expect(CaseClash.patience(newcomer: same, occupant: Self.upper) == 600)
        #expect(CaseClash.patience(newcomer: Self.lower, occupant: Self.upper) == 2)
        let due = Self.dueClashes()
        let versions = [Self.lower.version, Self.upper.version]
        #expect(!due("a", versions, 2, .seconds(10)))
        #expect(!due("a", versions, 2, .seconds(11)))
        #expect(!due("a", versions.reversed(), 2, .seconds(13)))
        #expect(!due("a", versions.reversed(), 2, .seconds(14)))
        #expect(due("a", versions.reversed(), 2, .seconds(15)))
        // It is a new one then.
        #expect(!due("a", versions.reversed(), 2, .seconds(16)))
    }

    @Test func clashesThatAreNotSettledTakeNoMoreThanTheirRoom() {
        let due = Self.dueClashes()
        for number in 0..<5000 { #expect(!due("\(number)", [], 2, .zero)) }
        // There is no room for it, until another is settled.
        for second in [2, 4] { #expect(!due("2000", [], 2, .seconds(second))) }
        #expect(due("1999", [], 2, .seconds(5)))
        #expect(!due("2000", [], 2, .seconds(6)))
        #expect(due("2000", [], 2, .seconds(8)))
        #expect(!due("2001", [], 2, .seconds(9)))
        // Those of yesterday make room.
        #expect(!due("4000", [], 2, .seconds(90_000)))
        #expect(due("4000", [], 2, .seconds(90_002)))
    }

    // MARK: names

    @Test func namesFollowFromTheOldNameAndTheContent() {
        let names = CaseClash.names(for: Self.lower)
        #expect(names.allSatisfy { $0.hasPrefix("d/photo.case-clash-") && $0.hasSuffix(".jpg") })
        #expect(names.map(\.utf8.count) == [7, 14, 28, 52].map { "d/photo.case-clash-.jpg".utf8.count + $0 })
        // All devices have to agree on it, for ever.
        #expect(names[0] == "d/photo.case-clash-SCA7UHH.jpg")
        var changed = Self.lower
        changed.blocksHash = S.hash("other")
        var renamed = Self.lower
        renamed.name = "d/pHoto.jpg"
        let all = names + CaseClash.names(for: changed) + CaseClash.names(for: renamed)
        #expect(Set(all.map { $0.lowercased() }).count == 12)
        var touched = Self.lower
        (touched.version, touched.modifiedSeconds, touched.permissions) = (S.version((S.me, 9)), 7, 0)
        #expect(CaseClash.names(for: touched) == names)
    }

    @Test(arguments: [
        String(repeating: "x", count: 255), "." + String(repeating: "x", count: 254),
        "a." + String(repeating: "é", count: 126),
        String(repeating: "𝄞", count: 63) + ".c", "noextension", ".profile", "d/e/f",
    ])
    func namesFitIntoADirectory(_ name: String) {
        let file = S.file("x", S.version((S.me, 1)), name: name)
        let names = CaseClash.names(for: file)
        for name in names { #expect(name.split(separator: "/").last.map(\.utf8.count) ?? 0 <= 255) }
        #expect(Set(names).count == 4)
    }

    // MARK: what becomes of it

    private static func outcome(
        _ places: [CaseClash.Place], known: LocalVersion? = nil, of file: FileInfo = lower
    ) -> CaseClash.Outcome {
        CaseClash.outcome(for: file, known: known, places: places, rules: rules, unixSeconds: 7000)
    }

    private static func places(
        _ changing: (inout [CaseClash.Place]) -> Void = { _ in }
    ) -> [CaseClash.Place] {
        var places = CaseClash.names(for: lower).map {
            CaseClash.Place(name: $0, local: nil, global: nil, isSelected: true, isTaken: false)
        }
        changing(&places)
        return places
    }

    private static func renaming(_ outcome: CaseClash.Outcome) -> CaseClash.Renaming? {
        if case .renamed(let renaming) = outcome { renaming } else { nil }
    }

    @Test func theContentGetsTheNewNameAndTheOldNameIsDeleted() throws {
        let renaming = try #require(Self.renaming(Self.outcome(Self.places())))
        let file = renaming.file(from: Self.lower)
        #expect(file.name == CaseClash.names(for: Self.lower)[0])
        #expect(file.hasSameContent(as: Self.lower) && file.blocks == Self.lower.blocks)
        #expect(file.version == S.version((S.me, 7000)) && file.modifiedBy == S.me)
        #expect(file.isModified(atTimeOf: Self.lower) && file.permissions == Self.lower.permissions)
        let tombstone = renaming.tombstone
        #expect(tombstone.isDeleted && tombstone.name == Self.lower.name)
        #expect(tombstone.version.compare(Self.lower.version) == .greater)
        #expect(renaming.source == Self.lower.version)
        // Devices whose selection follows renames take it for one.
        #expect(RenameElsewhere.isRename(tombstone, of: Self.lower, to: file))
    }

    /// By the rule of Syncthing 1 and ours, and by that of Syncthing 2, which takes the later of the two.
    @Test func anEditThatTheDeletionHasNotSeenOutlivesIt() throws {
        let tombstone = try #require(Self.renaming(Self.outcome(Self.places()))).tombstone
        let edit = S.file(
            "edit", S.version((S.third, 2)), name: Self.lower.name, modified: Self.lower.modifiedSeconds + 1)
        #expect(edit.version.compare(tombstone.version).isConcurrent)
        #expect(edit.wins(over: tombstone) && tombstone.modifiedSeconds < edit.modifiedSeconds)
        // Nobody here wanted it deleted, whatever the policy for deletions made here.
        for policy in ConflictPolicy.allCases {
            var rules = Self.rules
            rules.deletionPolicy = policy
            #expect(
                Reconciler.decide(
                    local: S.here(tombstone), global: edit, isKept: true, rules: rules, unixSeconds: 8000)
                    == .fetch(edit, replacing: .nothing))
        }
        var plain = tombstone
        plain.carriedFields = []
        var rules = Self.rules
        rules.deletionPolicy = .mine
        guard
            case .record = Reconciler.decide(
                local: S.here(plain), global: edit, isKept: true, rules: rules, unixSeconds: 8000)
        else {
            Issue.record("the policy does nothing, so that it is ignored shows nothing")
            return
        }
    }

    @Test func versionsThatThisDeviceMadeBeforeAreSeen() throws {
        let gone = S.here(S.tombstone(S.version((S.other, 1), (S.me, 9000)), name: Self.lower.name))
        let known = try #require(Self.renaming(Self.outcome(Self.places(), known: gone)))
        #expect(known.tombstone.version == S.version((S.other, 1), (S.third, 1), (S.me, 9001)))
        let places = Self.places { $0[0].global = S.tombstone(S.version((S.other, 3), (S.me, 8000)), name: $0[0].name) }
        let again = try #require(Self.renaming(Self.outcome(places)))
        #expect(again.file(from: Self.lower).version == S.version((S.other, 3), (S.me, 8001)))
    }

    @Test func aNameThatIsTakenIsNotUsed() {
        let names = CaseClash.names(for: Self.lower)
        let other = S.file("other", S.version((S.other, 1)), name: names[0])
        let taken: [(inout [CaseClash.Place]) -> Void] = [
            { $0[0].global = other }, { $0[0].isTaken = true },
            { $0[0].global = S.directory(S.version((S.other, 1)), name: names[0]) },
            { $0[0].local = S.here(other, .ignored) },
        ]
        for changing in taken {
            #expect(Self.renaming(Self.outcome(Self.places(changing)))?.name == names[1])
        }
        let all = Self.places { places in for index in places.indices { places[index].isTaken = true } }
        #expect(Self.outcome(all) == .stays)
        #expect(Self.outcome(Self.places { $0[0].isSelected = false }) == .stays)
    }

    @Test func whatAnotherDeviceHasRenamedIsNotRenamedAgain() throws {
        let done = S.file("lower", S.version((S.other, 50)), name: CaseClash.names(for: Self.lower)[0])
        #expect(Self.outcome(Self.places { $0[0].global = done }) == .stays)
        let here = Self.places {
            ($0[0].global, $0[0].local, $0[0].isTaken) = (done, S.here(done), true)
        }
        guard case .isThere(let name, let tombstone) = Self.outcome(here) else {
            Issue.record("not recognised")
            return
        }
        #expect(name == done.name && tombstone.version.compare(Self.lower.version) == .greater)
        let other = S.here(S.file("lower", S.version((S.other, 49)), name: done.name))
        #expect(
            Self.outcome(Self.places { ($0[0].global, $0[0].local, $0[0].isTaken) = (done, other, true) }) == .stays)
    }

    // MARK: properties

    /// Devices with such disks and without, users who edit what they have before they hear of a new name, news in any order: all
    /// end with the same files, nothing that nobody replaced is lost, and no two names clash.
    @Test(arguments: 1...300 as ClosedRange<UInt64>) func devicesThatDecideAloneAgree(seed: UInt64) {
        var cluster = ClashCluster(seed: seed)
        for _ in 0..<60 { cluster.act() }
        let hasEnded = cluster.settle()
        #expect(hasEnded)
        let files = cluster.devices.map(\.files)
        #expect(Set(files).count == 1, "\(files)")
        let names = files[0].keys.sorted()
        #expect(Set(names.map { $0.lowercased() }).count == names.count, "\(names)")
        let lost = cluster.alive.subtracting(files[0].values)
        #expect(lost.isEmpty, "lost \(lost), left \(files[0])")
        #expect(!cluster.alive.isEmpty)
    }

    @Test func theClusterMeetsClashes() {
        let renamed = (1...50 as ClosedRange<UInt64>).count { seed in
            var cluster = ClashCluster(seed: seed)
            for _ in 0..<60 { cluster.act() }
            _ = cluster.settle()
            return cluster.devices[0].files.keys.contains { $0.contains(".case-clash-") }
        }
        #expect(renamed > 25)
    }
}
