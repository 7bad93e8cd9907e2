import BlockExchange
import Cryptography
import Reconciliation
import Testing

@Suite struct LocalChangesTests {
    typealias S = Sample

    static let v1 = S.version((S.other, 10))
    static let v2 = S.version((S.other, 10), (S.me, 1000))

    private func update(
        _ observed: Observation, previous: LocalVersion? = nil, global: FileInfo? = nil, placed: FileInfo? = nil,
        isKept: Bool = true, kind: FolderKind = .sendReceive, now: Int64 = S.now
    ) -> LocalUpdate {
        LocalChanges.update(
            of: "f", observed: observed, previous: previous, global: global, placed: placed, isKept: isKept,
            rules: S.rules(kind), unixSeconds: now)
    }

    private func set(_ update: LocalUpdate) throws -> LocalVersion {
        guard case .set(let version) = update else {
            Issue.record("\(update)")
            throw CancellationError()
        }
        return version
    }

    // MARK: plain changes

    @Test func aNewFileStartsWithTheClock() throws {
        let version = try set(update(.item(S.item("one"))))
        #expect(version.flags == [])
        #expect(version.isOnDisk)
        #expect(version.file.version == S.version((S.me, 1000)))
        #expect(version.file.modifiedBy == S.me)
        #expect(version.file.blocksHash == S.hash("one"))
        #expect(version.file.size == 3)
        #expect(version.file.blocks == S.blocks("one"))
        #expect(version.file.previousBlocksHash == nil)
        // A clock before 1970 still counts.
        #expect(try set(update(.item(S.item("one")), now: -5)).file.version == S.version((S.me, 1)))
    }

    @Test func aChangeCountsOnOrTakesTheClock() throws {
        let before = S.here(S.file("one", Self.v1))
        let changed = try set(update(.item(S.item("two")), previous: before, global: before.file))
        #expect(changed.file.version == Self.v2)
        #expect(changed.file.previousBlocksHash == S.hash("one"))
        let ahead = S.here(S.file("one", S.version((S.me, 5000))))
        #expect(try set(update(.item(S.item("two")), previous: ahead)).file.version == S.version((S.me, 5001)))
        // A counter that cannot grow does not trap.
        let full = S.here(S.file("one", S.version((S.me, .max))))
        #expect(try set(update(.item(S.item("two")), previous: full)).file.version == S.version((S.me, .max)))
    }

    @Test(arguments: [
        (Observation.item(S.item("one")), true), (.item(S.item("one", modified: 101)), false),
        (.item(S.item("one", permissions: 0o600)), false), (.item(S.item("one", permissions: 0o100644)), true),
        (.item(S.item("two")), false), (.item(S.directoryItem()), false), (.item(S.link("one")), false),
        (.missing, false), (.unsupported, false),
    ])
    func whatCountsAsAChange(observed: Observation, isSame: Bool) {
        let before = S.here(S.file("one", Self.v1))
        #expect((update(observed, previous: before, global: before.file) == .unchanged) == isSame)
    }

    @Test func directoriesAndLinks() throws {
        let directory = S.here(S.directory(Self.v1))
        #expect(update(.item(S.directoryItem()), previous: directory) == .unchanged)
        let opened = try set(update(.item(S.directoryItem(0o777)), previous: directory))
        #expect(opened.file.version == Self.v2)
        #expect(opened.file.permissions == 0o777)
        #expect(opened.file.size == 0)
        let link = S.here(S.symlink("a", Self.v1))
        #expect(update(.item(S.link("a")), previous: link) == .unchanged)
        let changed = try set(update(.item(S.link("b")), previous: link))
        #expect(changed.file.symlinkTarget == Array("b".utf8))
        #expect(changed.file.hasNoPermissions)
        #expect(changed.file.kind == .symlink)
        var old = link.file
        old.kind = .symlinkToFile
        #expect(update(.item(S.link("a")), previous: S.here(old)) == .unchanged)
    }

    @Test func permissionsMayBeIgnored() throws {
        var rules = S.rules()
        rules.ignoresPermissions = true
        let before = S.here(S.file("one", Self.v1))
        let update = LocalChanges.update(
            of: "f", observed: .item(S.item("one", permissions: 0o600)), previous: before, global: before.file,
            isKept: true, rules: rules, unixSeconds: S.now)
        #expect(update == .unchanged)
    }

    /// What one disk does not keep is kept by the others.
    @Test(
        arguments: [
            ("f", true), ("disk", false), ("disk/f", false), ("disk/a/f", false), ("disk/inner/f", true),
            ("diskf", true),
        ] as [(String, Bool)])
    func permissionsAreIgnoredWhereTheDiskKeepsNone(_ path: String, _ areKept: Bool) {
        var rules = S.rules()
        rules.otherDisks = ["disk": DiskRules(keepsPermissions: false), "disk/inner": DiskRules()]
        #expect(rules.ignoresPermissions(at: path) != areKept)
        rules.disk = DiskRules(keepsPermissions: false)
        #expect(rules.ignoresPermissions(at: path) == (path != "disk/inner/f"))
        rules.ignoresPermissions = true
        #expect(rules.ignoresPermissions(at: path))
    }

    @Test func unchangedContentKeepsItsWeakHashes() throws {
        let before = S.here(S.file("one", Self.v1, weakHash: 77))
        let touched = try set(update(.item(S.item("one", modified: 200)), previous: before, global: before.file))
        #expect(touched.file.blocks.map(\.weakHash) == [77])
        #expect(touched.file.modifiedSeconds == 200)
    }

    @Test func platformDataGoesOnAndTheOldBasisDoesNot() throws {
        var file = S.file("one", Self.v1)
        let platform: [UInt8] = [14 << 3 | 2, 2, 0x10, 0x01]
        // Platform data, previous blocks hash (20), an unknown number (21).
        file.carriedFields = platform + [0xA2, 0x01, 32] + [UInt8](repeating: 1, count: 32) + [0xA8, 0x01, 7]
        #expect(file.previousBlocksHash == SHA256Digest([UInt8](repeating: 1, count: 32)))
        let changed = try set(update(.item(S.item("two")), previous: S.here(file), global: file))
        #expect(changed.file.carriedFields.starts(with: platform))
        #expect(changed.file.carriedFields.count == platform.count + 35)
        #expect(changed.file.previousBlocksHash == S.hash("one"))
        let deleted = try set(update(.missing, previous: S.here(file), global: file))
        #expect(deleted.file.carriedFields == platform)
        // Damaged ones say nothing.
        file.carriedFields = [0xA2, 0x01, 40, 1]
        #expect(file.previousBlocksHash == nil)
        #expect(file.carriedFields(afterChangeOf: nil) == [])
    }

    // MARK: deletions

    /// What it lost may be later by its own counter, as its clock may have gone back since.
    @Test func whatADeviceOutOfABackupChangesIsInConflictWithWhatItLost() throws {
        var rules = S.rules()
        rules.author = S.third
        let base = S.version((S.other, 3), (S.me, 100))
        let before = S.here(S.file("one", base))
        let lost = S.version((S.other, 3), (S.me, 5000))
        for observed in [Observation.item(S.item("two")), .missing] {
            let made = LocalChanges.update(
                of: "f", observed: observed, previous: before, global: before.file, isKept: true, rules: rules,
                unixSeconds: S.now)
            let file = try set(made).file
            #expect(file.modifiedBy == S.me)
            #expect(file.version.compare(base) == .greater && file.version.compare(lost).isConcurrent)
        }
    }

    @Test func aDeletionIsAChange() throws {
        let before = S.here(S.file("one", Self.v1))
        let gone = try set(update(.missing, previous: before, global: before.file))
        #expect(gone.file.isDeleted)
        #expect(gone.file.version == Self.v2)
        #expect(gone.file.modifiedSeconds == S.now)
        #expect(gone.file.size == 0)
        #expect(gone.file.blocks.isEmpty && gone.file.blocksHash == nil)
        #expect(!gone.isOnDisk)
        #expect(gone.isValid)
        #expect(update(.missing, previous: gone, global: gone.file) == .unchanged)
        // It comes back, knowing that it was deleted.
        let back = try set(update(.item(S.item("two")), previous: gone, global: gone.file, now: 2000))
        #expect(back.file.version == S.version((S.other, 10), (S.me, 2000)))
    }

    @Test func aDeletionOfOthersThatIsDoneAlreadyIsTheirs() throws {
        let before = S.here(S.file("one", Self.v1))
        let theirs = S.tombstone(S.version((S.other, 11)))
        #expect(try set(update(.missing, previous: before, global: theirs)).file == theirs)
        #expect(update(.missing, previous: nil, global: before.file) == .unchanged)
    }

    /// This device may have died when it had made room for what is new.
    @Test func aDeletionOfWhatOthersHaveChangedIsNotTold() throws {
        let before = S.here(S.file("one", Self.v1))
        let successor = S.version((S.other, 11))
        for theirs in [S.file("two", successor), S.directory(successor), S.symlink("two", successor)] {
            #expect(update(.missing, previous: before, global: theirs) == .forget)
            // Who only sends has the last word.
            #expect(try set(update(.missing, previous: before, global: theirs, kind: .sendOnly)).file.isDeleted)
        }
        // What this device knew of is deleted.
        let known = S.here(S.file("two", successor))
        #expect(try set(update(.missing, previous: known, global: S.file("one", Self.v1))).file.isDeleted)
    }

    // MARK: put there and not noted

    @Test func whatWasAboutToBePutThereIsThatVersion() throws {
        var placed = S.file("two", S.version((S.other, 11)))
        placed.blocks = []
        let newer = S.file("four", S.version((S.other, 13)))
        let before = S.here(S.file("one", Self.v1))
        for previous in [before, nil] {
            let found = try set(
                update(.item(S.item("two")), previous: previous, global: newer, placed: placed))
            #expect(found.file.version == placed.version && found.flags == [] && found.isOnDisk)
            #expect(found.file.blocks == S.blocks("two"))
        }
    }

    @Test func whatElseIsThereIsAChange() throws {
        let placed = S.file("two", S.version((S.other, 11)))
        let newer = S.file("four", S.version((S.other, 13)))
        let before = S.here(S.file("one", Self.v1))
        #expect(update(.item(S.item("one")), previous: before, global: newer, placed: placed) == .unchanged)
        let changed = try set(update(.item(S.item("mine")), previous: before, global: newer, placed: placed))
        #expect(changed.file.version == S.version((S.other, 10), (S.me, 1000)))
        // It was there, and was changed since: the same content again is another version.
        let later = S.here(S.file("three", S.version((S.other, 12))))
        let again = try set(update(.item(S.item("two")), previous: later, global: newer, placed: placed))
        #expect(again.file.version == S.version((S.other, 12), (S.me, 1000)))
    }

    // MARK: found here for the first time

    @Test func whatIsHereAlreadyJoinsWithoutConflict() throws {
        let global = S.file("one", Self.v1, weakHash: 4)
        #expect(try set(update(.item(S.item("one")), global: global)) == S.here(global))
        // Only its time differs: it takes over the global one's by an action that has nothing to lose.
        let older = try set(update(.item(S.item("one", modified: 5)), global: global))
        #expect(older.file.version.isEmpty)
        #expect(older.file.blocks.map(\.weakHash) == [4])
        let action = Reconciler.decide(local: older, global: global, isKept: true, rules: S.rules(), unixSeconds: 0)
        #expect(action == .adopt(global, over: older, changing: .modificationTime))
        // Another content is a concurrent version.
        let different = try set(update(.item(S.item("two")), global: global))
        #expect(different.file.version == S.version((S.me, 1000)))
        #expect(different.file.version.compare(global.version).isConcurrent)
        let directory = S.directory(Self.v1)
        #expect(try set(update(.item(S.directoryItem()), global: directory)) == S.here(directory))
    }

    @Test func aForgottenCounterIsNotGivenAgain() throws {
        let global = S.file("one", S.version((S.other, 3), (S.me, 5000)))
        #expect(try set(update(.item(S.item("two")), global: global)).file.version == S.version((S.me, 5001)))
    }

    @Test func whatIsFoundInThePlaceOfAForgottenFileYields() throws {
        // Only this device ever changed the name, so no vector of its own is concurrent to it.
        let global = S.file("one", S.version((S.me, 500)))
        let found = try set(update(.item(S.item("two")), global: global))
        #expect(found.file.version.isEmpty)
        let action = Reconciler.decide(local: found, global: global, isKept: true, rules: S.rules(), unixSeconds: 0)
        #expect(action == .fetch(global, replacing: .conflicting(found)))
        #expect(
            try set(update(.item(S.item("two")), global: S.tombstone(S.version((S.me, 500))))).file.version
                == S.version((S.me, 1000)))
    }

    /// Also what is edited there before it has yielded, and an edit of an older version by a device that has forgotten the newer one.
    @Test(arguments: [VersionVector(), S.version((S.me, 300))])
    func anEditOfWhatHasNotSeenTheGlobalVersionYields(base: VersionVector) throws {
        let global = S.file("one", S.version((S.me, 500)))
        let before = S.here(S.file("two", base))
        #expect(try set(update(.item(S.item("three")), previous: before, global: global)).file.version.isEmpty)
        // Who has seen it changes it.
        let current = S.here(S.file("one", S.version((S.me, 500))))
        #expect(
            try set(update(.item(S.item("three")), previous: current, global: global)).file.version
                == S.version((S.me, 1000)))
        // Nothing is hidden by a rival of another device: that is a conflict anyway.
        let rival = S.file("one", S.version((S.other, 500)))
        #expect(
            try set(update(.item(S.item("three")), previous: before, global: rival)).file.version
                == S.version((S.me, 1000)))
    }

    /// A device announces what nobody has, and is removed later: what it hid must not have been overtaken meanwhile.
    @Test(arguments: [VersionVector(), S.version((S.me, 300))])
    func whatIsFoundYieldsToWhatTheWinnerHides(base: VersionVector) throws {
        let winner = S.file("lie", S.version((S.me, 500), (S.other, 7)))
        let hidden = S.version((S.me, 500))
        let before = base.isEmpty ? nil : S.here(S.file("two", base))
        func found(_ rivals: [VersionVector]) throws -> VersionVector {
            let update = LocalChanges.update(
                of: "f", observed: .item(S.item("three")), previous: before, global: winner, rivals: rivals,
                isKept: true, rules: S.rules(), unixSeconds: S.now)
            return try set(update).file.version
        }
        #expect(try found([hidden]).isEmpty)
        #expect(try found([S.version((S.other, 3)), hidden]).isEmpty)
        // What is concurrent to all of them overtakes none.
        #expect(try found([S.version((S.other, 3))]) == S.version((S.me, 1000)))
        // Who has seen what is hidden changes it.
        let current = S.here(S.file("one", hidden))
        let update = LocalChanges.update(
            of: "f", observed: .item(S.item("three")), previous: current, global: winner, rivals: [hidden],
            isKept: true, rules: S.rules(), unixSeconds: S.now)
        #expect(try set(update).file.version == S.version((S.me, 1000)))
    }

    @Test func whatWasPulledBeforeACrashIsTheGlobalVersion() throws {
        let before = S.here(S.file("one", Self.v1))
        let global = S.file("two", S.version((S.other, 11)))
        #expect(try set(update(.item(S.item("two")), previous: before, global: global)) == S.here(global))
        // An older version that this device has passed is not taken again: putting back old content is a change.
        let mine = S.here(S.file("mine", Self.v2))
        let back = try set(update(.item(S.item("one")), previous: mine, global: before.file))
        #expect(back.file.version == S.version((S.other, 10), (S.me, 1001)))
    }

    // MARK: selection

    @Test func whatIsLeftOutIsNeverDeletedElsewhere() throws {
        let before = S.here(S.file("one", Self.v1))
        #expect(update(.missing, previous: before, global: before.file, isKept: false) == .forget)
        #expect(update(.item(S.item("new")), isKept: false) == .unchanged)
        let ignored = try set(update(.item(S.item("one")), previous: before, global: before.file, isKept: false))
        #expect(ignored.flags == .ignored)
        #expect(ignored.file.isInvalid)
        #expect(ignored.file.version == Self.v1)
        #expect(ignored.isOnDisk)
        #expect(update(.item(S.item("two")), previous: ignored, isKept: false) == .unchanged)
        #expect(update(.missing, previous: ignored, isKept: false) == .forget)
        let tombstone = S.here(S.tombstone(Self.v1))
        #expect(update(.missing, previous: tombstone, isKept: false) == .forget)
        // Gone while it was left out: no deletion either.
        #expect(update(.missing, previous: ignored, global: before.file, isKept: true) == .forget)
        let selectedAgain = S.here(S.file("one", Self.v1), .mustRescan)
        #expect(update(.missing, previous: selectedAgain, global: before.file, isKept: true) == .forget)
    }

    @Test func whatIsSelectedAgainUnchangedIsTheVersionItWas() throws {
        let ignored = S.here(S.file("one", Self.v1), .ignored)
        let newer = S.file("two", S.version((S.other, 11)))
        let again = try set(update(.item(S.item("one")), previous: ignored, global: newer))
        #expect(again.isValid)
        #expect(again.file.version == Self.v1)
        // So the newer version replaces it without a conflict copy.
        let action = Reconciler.decide(local: again, global: newer, isKept: true, rules: S.rules(), unixSeconds: 0)
        #expect(action == .fetch(newer, replacing: .replaced(again)))
    }

    @Test func whatChangedWhileItWasLeftOutIsConcurrent() throws {
        let ignored = S.here(S.file("one", S.version((S.other, 10), (S.me, 4))), .ignored)
        let changed = try set(update(.item(S.item("two")), previous: ignored, global: ignored.file))
        #expect(changed.isValid)
        #expect(changed.file.version == S.version((S.me, 1000)))
        #expect(changed.file.previousBlocksHash == nil)
        // The version moved on while the disk did not: its content is not known to be any version's.
        guard
            case .record(let moved) = Reconciler.decide(
                local: ignored, global: S.file("two", S.version((S.other, 11))), isKept: false, rules: S.rules(),
                unixSeconds: 0)
        else {
            Issue.record("nothing recorded")
            return
        }
        #expect(moved.flags == .ignored)
        #expect(moved.file.version == S.version((S.other, 11)))
        #expect(moved.file.blocksHash == nil)
        let again = try set(update(.item(S.item("one")), previous: moved, global: S.file("x", moved.file.version)))
        #expect(again.file.version == S.version((S.me, 1000)))
    }

    // MARK: doubt

    @Test func doubtEndsWithALook() throws {
        let doubtful = S.here(S.file("one", Self.v1), .mustRescan)
        #expect(try set(update(.item(S.item("one")), previous: doubtful)) == S.here(S.file("one", Self.v1)))
        let changed = try set(update(.item(S.item("two")), previous: doubtful))
        #expect(changed.file.version == Self.v2)
        #expect(changed.isValid)
        // Nobody watched over it, so its absence says nothing: it may have been removed while it was not selected.
        #expect(update(.missing, previous: doubtful) == .forget)
    }

    @Test func aFileThatCannotBeReadIsInDoubt() throws {
        let before = S.here(S.file("one", Self.v1))
        var unread = S.item("one")
        unread.blocks = []
        unread.blocksHash = nil
        #expect(update(.item(unread), previous: before) == .unchanged)
        #expect(update(.item(unread)) == .unchanged)
        unread.size = 9
        let doubtful = try set(update(.item(unread), previous: before))
        #expect(doubtful.flags == .mustRescan)
        #expect(doubtful.file.version == Self.v1)
        #expect(update(.item(unread), previous: doubtful) == .unchanged)
    }

    @Test func whatCannotBeSynchronisedIsNotVouchedFor() throws {
        let before = S.here(S.file("one", Self.v1))
        let odd = try set(update(.unsupported, previous: before, global: before.file))
        #expect(odd.flags == .unsupported)
        #expect(odd.file.version == Self.v1)
        #expect(odd.file.blocksHash == nil)
        #expect(update(.unsupported, previous: odd, global: before.file) == .unchanged)
        #expect(update(.unsupported) == .unchanged)
        // In the way of a file of others it is noted, so that the file is not fetched for nothing.
        let inTheWay = try set(update(.unsupported, global: before.file))
        let action = Reconciler.decide(
            local: inTheWay, global: before.file, isKept: true, rules: S.rules(), unixSeconds: 0)
        #expect(action == .blocked(.unsupported))
        #expect(update(.missing, previous: odd, global: before.file) == .forget)
        let back = try set(update(.item(S.item("one")), previous: odd, global: before.file))
        #expect(back == before)
    }

    // MARK: folders that only receive

    @Test func aChangeInAReceiveOnlyFolderStaysHere() throws {
        let before = S.here(S.file("one", Self.v1))
        let changed = try set(
            update(.item(S.item("two")), previous: before, global: before.file, kind: .receiveOnly))
        #expect(changed.flags == .receiveOnlyChanged)
        #expect(changed.file.isInvalid)
        #expect(changed.file.version == Self.v2)
        #expect(update(.item(S.item("two")), previous: changed, global: before.file, kind: .receiveOnly) == .unchanged)
        let again = try set(
            update(.item(S.item("three")), previous: changed, global: before.file, kind: .receiveOnly, now: 7))
        #expect(again.file.version == S.version((S.other, 10), (S.me, 1001)))
        // Undone by hand.
        let undone = update(.item(S.item("one")), previous: changed, global: before.file, kind: .receiveOnly)
        #expect(try set(undone) == before)
        let added = try set(update(.item(S.item("new")), kind: .receiveOnly))
        #expect(added.flags == .receiveOnlyChanged)
        #expect(update(.missing, previous: added, kind: .receiveOnly) == .forget)
        // A change that is deleted gives way to what the cluster has.
        #expect(update(.missing, previous: changed, global: before.file, kind: .receiveOnly) == .forget)
    }

    @Test func aDeletionInAReceiveOnlyFolderStaysHere() throws {
        let before = S.here(S.file("one", Self.v1))
        let gone = try set(update(.missing, previous: before, global: before.file, kind: .receiveOnly))
        #expect(gone.flags == .receiveOnlyChanged)
        #expect(gone.file.isDeleted)
        #expect(update(.missing, previous: gone, global: before.file, kind: .receiveOnly) == .unchanged)
        let tombstone = S.tombstone(S.version((S.other, 11)))
        #expect(try set(update(.missing, previous: gone, global: tombstone, kind: .receiveOnly)) == S.here(tombstone))
        let back = update(.item(S.item("one")), previous: gone, global: before.file, kind: .receiveOnly)
        #expect(try set(back) == before)
    }

    @Test(arguments: [FolderKind.sendReceive, .sendOnly])
    func aFolderThatMaySendNowSendsItsChanges(kind: FolderKind) throws {
        let global = S.file("one", Self.v1)
        let changed = S.here(S.file("two", Self.v2), .receiveOnlyChanged)
        let sent = try set(update(.item(S.item("two")), previous: changed, global: global, kind: kind))
        #expect(sent == S.here(S.file("two", Self.v2)), "it has seen what it was changed from: no conflict")
        let edited = try set(update(.item(S.item("three")), previous: changed, global: global, kind: kind, now: 7))
        #expect(edited.isValid && edited.file.version == S.version((S.other, 10), (S.me, 1001)))
        // What others have made of it meanwhile it has not seen.
        let newer = S.file("theirs", S.version((S.other, 11)))
        let both = try set(update(.item(S.item("two")), previous: changed, global: newer, kind: kind))
        #expect(both.file.version.compare(newer.version).isConcurrent)
        let added = S.here(S.file("new", S.version((S.me, 1))), .receiveOnlyChanged)
        #expect(try set(update(.item(S.item("new")), previous: added, kind: kind)).isValid)
    }

    @Test func aFolderThatMaySendNowSendsItsDeletions() throws {
        let gone = LocalVersion(file: S.tombstone(Self.v2), flags: .receiveOnlyChanged, isOnDisk: false)
        let sent = try set(update(.missing, previous: gone, global: S.file("one", Self.v1)))
        #expect(sent.isValid && sent.file.isDeleted && sent.file.version == Self.v2)
        let newer = S.file("theirs", S.version((S.other, 11)))
        #expect(update(.missing, previous: gone, global: newer) == .forget, "others have changed it: it comes")
        let tombstone = S.tombstone(S.version((S.other, 11)))
        #expect(try set(update(.missing, previous: gone, global: tombstone)) == S.here(tombstone))
    }

    // MARK: what is kept against deletions

    @Test func aFileThatOutlivesADeletionSaysSo() throws {
        let local = S.here(S.file("one", S.version((S.me, 50))))
        let deletion = S.tombstone(S.version((S.other, 60)))
        let kept = try #require(
            LocalChanges.outliving(deletion, local: local, rules: S.rules(), unixSeconds: S.now))
        #expect(kept.file.version == S.version((S.other, 60), (S.me, 1000)))
        #expect(kept.file.blocksHash == S.hash("one"))
        #expect(kept.isValid)
        func outliving(_ deletion: FileInfo, _ local: LocalVersion?, _ kind: FolderKind = .sendReceive) -> Bool {
            LocalChanges.outliving(deletion, local: local, rules: S.rules(kind), unixSeconds: S.now) != nil
        }
        #expect(!outliving(deletion, kept))
        #expect(!outliving(deletion, nil))
        #expect(!outliving(deletion, local, .receiveOnly))
        #expect(!outliving(deletion, local, .sendOnly))
        #expect(!outliving(S.tombstone(S.version((S.me, 51))), local))
        // By either rule the file wins: nothing to say.
        #expect(!outliving(S.tombstone(S.version((S.other, 60)), modified: 99), local))
        #expect(!outliving(S.file("two", S.version((S.other, 60)), modified: 900), local))
    }

    @Test func aDirectoryThatIsNeededStays() throws {
        let local = S.here(S.directory(S.version((S.other, 1))))
        let deletion = S.tombstone(S.version((S.other, 2)), kind: .directory)
        let kept = try #require(
            LocalChanges.retaining(local, over: deletion, rules: S.rules(), unixSeconds: S.now))
        #expect(kept.isValid)
        #expect(kept.file.version == S.version((S.other, 2), (S.me, 1000)))
        let here = try #require(
            LocalChanges.retaining(local, over: deletion, rules: S.rules(.receiveOnly), unixSeconds: S.now))
        #expect(here.flags == .receiveOnlyChanged)
        #expect(
            LocalChanges.retaining(
                S.here(S.file("x", S.version((S.other, 1)))), over: deletion, rules: S.rules(), unixSeconds: S.now)
                == nil)
    }
}
