import BlockExchange
import Testing

@testable import Reconciliation

@Suite struct DecisionTests {
    typealias S = Sample

    static let old = S.version((S.other, 1))
    static let new = S.version((S.other, 2))
    static let mine = S.version((S.other, 1), (S.me, 1))

    private func decide(
        _ local: LocalVersion?, _ global: FileInfo?, isKept: Bool = true, _ kind: FolderKind = .sendReceive,
        conflictLimit: Int = 10
    ) -> Action {
        var rules = S.rules(kind)
        rules.conflictLimit = conflictLimit
        return Reconciler.decide(
            local: local, global: global, isKept: isKept, rules: rules, unixSeconds: 1_000_000)
    }

    /// Two devices made something of the name that was to yield to what a third had, which is gone since.
    @Test(arguments: [FolderKind.sendReceive, .sendOnly, .receiveOnly])
    func whatNobodyElseHasAVersionOfGetsOne(_ kind: FolderKind) {
        let none = VersionVector()
        for (mine, winning) in [("one", "one"), ("one", "two")] {
            let before = S.file(mine, none)
            guard case .record(let recorded) = decide(S.here(S.file(mine, none)), S.file(winning, none), kind) else {
                Issue.record("it stays without a version")
                continue
            }
            #expect(recorded.flags == (kind == .receiveOnly ? .receiveOnlyChanged : []))
            #expect(recorded.file.blocksHash == before.blocksHash && recorded.file.modifiedBy == S.me)
            // It has seen nothing: what a device has and did not announce is no older.
            for version in [Self.old, Self.new, Self.mine, S.version((S.me, 1))] {
                #expect(recorded.file.version.compare(version).isConcurrent)
            }
        }
        // What has one wins as ever, what is in doubt or gone gets none.
        let file = S.file("one", none)
        if kind == .sendReceive {
            let newer = S.file("two", Self.new)
            #expect(decide(S.here(file), newer) == .fetch(newer, replacing: .conflicting(S.here(file))))
        }
        for flags in [LocalVersion.Flags.mustRescan, .unsupported, .ignored] {
            if case .record(let recorded) = decide(S.here(file, flags), file, kind) {
                #expect(recorded.file.version == none)
            }
        }
        #expect(decide(S.here(S.tombstone(none)), file, kind) == .nothing)
    }

    @Test func nothingIsThere() {
        #expect(decide(nil, nil) == .nothing)
        let file = S.file("two", Self.new)
        #expect(decide(nil, file) == .fetch(file, replacing: .nothing))
        #expect(decide(S.here(S.tombstone(Self.old)), file) == .fetch(file, replacing: .nothing))
        let directory = S.directory(Self.new)
        #expect(decide(nil, directory) == .makeDirectory(directory, replacing: .nothing))
        let link = S.symlink("x", Self.new)
        #expect(decide(nil, link) == .makeSymlink(link, replacing: .nothing))
        #expect(decide(nil, S.tombstone(Self.new)) == .nothing)
        #expect(
            decide(S.here(S.tombstone(Self.old)), S.tombstone(Self.new)) == .record(S.here(S.tombstone(Self.new))))
        var invalid = file
        invalid.isInvalid = true
        #expect(decide(nil, invalid) == .nothing)
        #expect(decide(S.here(S.file("one", Self.old)), invalid) == .nothing)
    }

    @Test func aNewerVersionReplacesAnOlderOne() {
        let local = S.here(S.file("one", Self.old))
        let global = S.file("two", Self.new)
        #expect(decide(local, local.file) == .nothing)
        #expect(decide(S.here(global), local.file) == .nothing)
        #expect(decide(local, global) == .fetch(global, replacing: .replaced(local)))
        let gone = S.tombstone(Self.new)
        #expect(decide(local, gone) == .delete(local, tombstone: gone, keepsCopy: false))
    }

    @Test func sameContentIsTakenOver() {
        let local = S.here(S.file("one", Self.mine, modified: 100, permissions: 0o600))
        let same = S.file("one", Self.new, modified: 100, permissions: 0o600)
        #expect(decide(local, same) == .record(S.here(same)))
        let touched = S.file("one", Self.new, modified: 300, permissions: 0o644)
        #expect(decide(local, touched) == .adopt(touched, over: local, changing: [.permissions, .modificationTime]))
        var bare = touched
        bare.hasNoPermissions = true
        #expect(decide(local, bare) == .adopt(bare, over: local, changing: .modificationTime))
        let directory = S.here(S.directory(Self.mine))
        let closed = S.directory(Self.new, permissions: 0o700)
        #expect(decide(directory, closed) == .adopt(closed, over: directory, changing: .permissions))
        let link = S.here(S.symlink("a", Self.mine))
        #expect(decide(link, S.symlink("a", Self.new)) == .record(S.here(S.symlink("a", Self.new))))
        // Unknown content is not the same as any.
        var unknown = local.file
        unknown.blocksHash = nil
        #expect(decide(S.here(unknown), same) == .fetch(same, replacing: .conflicting(S.here(unknown))))
    }

    @Test func whatTheAuthorHasNotSeenIsKeptAsACopy() {
        let local = S.here(S.file("mine", Self.mine))
        let global = S.file("two", Self.new)
        #expect(decide(local, global) == .fetch(global, replacing: .conflicting(local)))
        #expect(decide(local, global, conflictLimit: 0) == .fetch(global, replacing: .replaced(local)))
        #expect(decide(local, global, conflictLimit: -1) == .fetch(global, replacing: .conflicting(local)))
        let directory = S.directory(Self.new)
        #expect(decide(local, directory) == .makeDirectory(directory, replacing: .conflicting(local)))
        let link = S.symlink("x", Self.new)
        #expect(decide(local, link) == .makeSymlink(link, replacing: .conflicting(local)))
        let gone = S.tombstone(Self.new)
        #expect(decide(local, gone) == .delete(local, tombstone: gone, keepsCopy: true))
        // Directories and symbolic links make no copies.
        let localLink = S.here(S.symlink("a", Self.mine))
        #expect(decide(localLink, link) == .makeSymlink(link, replacing: .replaced(localLink)))
        #expect(decide(localLink, global) == .fetch(global, replacing: .replaced(localLink)))
        let localDirectory = S.here(S.directory(Self.mine))
        #expect(decide(localDirectory, global) == .fetch(global, replacing: .replaced(localDirectory)))
    }

    @Test func aChangeOfTheVeryContentThatIsHereIsNoConflict() {
        let local = S.here(S.file("mine", Self.mine))
        var global = S.file("two", Self.new)
        global.carriedFields = global.carriedFields(afterChangeOf: S.hash("mine"))
        #expect(decide(local, global) == .fetch(global, replacing: .replaced(local)))
        global.carriedFields = global.carriedFields(afterChangeOf: S.hash("one"))
        #expect(decide(local, global) == .fetch(global, replacing: .conflicting(local)))
    }

    @Test func aTypeChangeReplaces() {
        let local = S.here(S.file("one", Self.old))
        let directory = S.directory(Self.new)
        #expect(decide(local, directory) == .makeDirectory(directory, replacing: .replaced(local)))
        let was = S.here(S.directory(Self.old))
        let link = S.symlink("x", Self.new)
        #expect(decide(was, link) == .makeSymlink(link, replacing: .replaced(was)))
        // What is deleted is what is here, whatever it was for others.
        let gone = S.tombstone(Self.new, kind: .file)
        #expect(decide(was, gone) == .delete(was, tombstone: gone, keepsCopy: false))
    }

    @Test func doubtBlocks() {
        let global = S.file("two", Self.new)
        #expect(decide(S.here(S.file("one", Self.old), .mustRescan), global) == .blocked(.mustRescan))
        #expect(decide(S.here(S.file("one", Self.old), .ignored), global) == .blocked(.mustRescan))
        #expect(decide(S.here(S.file("one", Self.old), .unsupported), global) == .blocked(.unsupported))
        #expect(
            decide(S.here(S.file("one", Self.old), [.receiveOnlyChanged, .mustRescan]), global, .receiveOnly)
                == .blocked(.mustRescan))
    }

    @Test(arguments: [FolderKind.sendReceive, .sendOnly, .receiveOnly])
    func whatIsNotKeptIsLeftAlone(kind: FolderKind) {
        let file = S.file("two", Self.new)
        let gone = S.tombstone(Self.new)
        #expect(decide(nil, file, isKept: false, kind) == .nothing)
        #expect(decide(nil, gone, isKept: false, kind) == .nothing)
        let ignored = S.here(S.file("one", Self.old), .ignored)
        #expect(decide(ignored, ignored.file, isKept: false, kind) == .nothing)
        for global in [file, gone, S.directory(Self.new)] {
            guard case .record(let record) = decide(ignored, global, isKept: false, kind) else {
                Issue.record("not recorded")
                continue
            }
            #expect(record.flags == .ignored)
            #expect(record.file.version == Self.new)
            #expect(record.file.size == 3)
            #expect(record.isOnDisk)
            #expect(decide(record, global, isKept: false, kind) == .nothing)
        }
        #expect(decide(S.here(gone), gone, isKept: false, kind) == .forget("f"))
    }

    @Test func aFolderThatOnlySendsNeverChangesTheDisk() {
        let local = S.here(S.file("one", Self.old))
        #expect(decide(nil, S.file("two", Self.new), .sendOnly) == .nothing)
        #expect(decide(local, S.file("two", Self.new), .sendOnly) == .nothing)
        #expect(decide(local, S.tombstone(Self.new), .sendOnly) == .nothing)
        #expect(decide(local, S.file("one", Self.new), .sendOnly) == .record(S.here(S.file("one", Self.new))))
        #expect(decide(local, S.file("one", Self.new, modified: 7), .sendOnly) == .nothing)
        let gone = S.here(S.tombstone(Self.old))
        #expect(decide(gone, S.tombstone(Self.new), .sendOnly) == .record(S.here(S.tombstone(Self.new))))
        #expect(decide(gone, S.file("two", Self.new), .sendOnly) == .nothing)
    }

    @Test func aChangeInAReceiveOnlyFolderStaysUntilTheGlobalVersionChanges() {
        let changed = S.here(S.file("mine", Self.mine), .receiveOnlyChanged)
        #expect(decide(changed, S.file("one", Self.old), .receiveOnly) == .nothing)
        let newer = S.file("two", Self.new)
        #expect(decide(changed, newer, .receiveOnly) == .fetch(newer, replacing: .conflicting(changed)))
        let gone = S.tombstone(Self.new)
        #expect(decide(changed, gone, .receiveOnly) == .delete(changed, tombstone: gone, keepsCopy: true))
        #expect(
            decide(changed, S.file("mine", Self.new), .receiveOnly) == .record(S.here(S.file("mine", Self.new))))
        let deleted = LocalVersion(file: S.tombstone(Self.mine), flags: .receiveOnlyChanged, isOnDisk: false)
        #expect(decide(deleted, S.file("one", Self.old), .receiveOnly) == .nothing)
        #expect(decide(deleted, newer, .receiveOnly) == .fetch(newer, replacing: .nothing))
        #expect(decide(deleted, gone, .receiveOnly) == .record(S.here(gone)))
    }

    // MARK: override and revert

    private func override(_ local: LocalVersion?, _ global: FileInfo?, isKept: Bool = true) -> LocalVersion? {
        Reconciler.override(
            local: local, global: global, isKept: isKept, rules: S.rules(.sendOnly), unixSeconds: S.now)
    }

    @Test func overrideWinsOverAll() throws {
        let local = S.here(S.file("one", S.version((S.me, 4))))
        let global = S.file("two", S.version((S.other, 9), (S.third, 1)))
        let over = try #require(override(local, global))
        #expect(over.file.version == S.version((S.other, 9), (S.third, 1), (S.me, 1000)))
        #expect(over.file.blocksHash == S.hash("one"))
        #expect(over.isOnDisk)
        let deletion = try #require(override(nil, global))
        #expect(deletion.file.isDeleted && !deletion.isOnDisk)
        #expect(deletion.file.version == over.file.version)
        #expect(override(nil, global, isKept: false) == nil)
        #expect(override(over, global) == nil)
        #expect(override(S.here(local.file, .ignored), global) == nil)
        #expect(override(nil, S.tombstone(Self.new)) == nil)
        let stillGone = try #require(override(S.here(S.tombstone(Self.old)), global))
        #expect(stillGone.file.isDeleted)
        #expect(
            Reconciler.override(local: local, global: global, isKept: true, rules: S.rules(), unixSeconds: 1) == nil)
    }

    private func revert(_ local: LocalVersion?, _ global: FileInfo?) -> Action {
        Reconciler.revert(local: local, global: global, isKept: true, rules: S.rules(.receiveOnly))
    }

    @Test func revertGoesBackToTheGlobalVersion() throws {
        let global = S.file("one", Self.old)
        let changed = S.here(S.file("mine", Self.mine), .receiveOnlyChanged)
        #expect(revert(changed, global) == .fetch(global, replacing: .replaced(changed)))
        let gone = S.tombstone(Self.old)
        #expect(revert(changed, gone) == .delete(changed, tombstone: gone, keepsCopy: false))
        let touched = S.file("mine", Self.old, modified: 7)
        #expect(revert(changed, touched) == .adopt(touched, over: changed, changing: .modificationTime))
        #expect(revert(S.here(changed.file, [.receiveOnlyChanged, .mustRescan]), global) == .blocked(.mustRescan))
        // Only here: it goes, and nothing is said of it.
        #expect(revert(changed, nil) == .delete(changed, tombstone: nil, keepsCopy: false))
        #expect(revert(changed, changed.file) == .delete(changed, tombstone: nil, keepsCopy: false))
        let deleted = LocalVersion(file: S.tombstone(Self.mine), flags: .receiveOnlyChanged, isOnDisk: false)
        #expect(revert(deleted, global) == .fetch(global, replacing: .nothing))
        #expect(revert(deleted, gone) == .record(S.here(gone)))
        #expect(revert(deleted, nil) == .forget("f"))
        #expect(revert(S.here(S.file("one", Self.mine), .receiveOnlyChanged), global) == .record(S.here(global)))
        #expect(revert(S.here(global), global) == .nothing)
        #expect(
            Reconciler.revert(local: changed, global: global, isKept: true, rules: S.rules(.sendReceive)) == .nothing)
        #expect(
            Reconciler.revert(local: changed, global: nil, isKept: false, rules: S.rules(.receiveOnly)) == .nothing)
    }

    // MARK: directories that are to go

    @Test func aDirectoryGoesOnlyWithNothingOfValueInIt() {
        typealias Item = DirectoryRemoval.Item
        let kept = S.here(S.file("one", Self.old, name: "d/k"))
        #expect(DirectoryRemoval.verdict(on: []) == .remove(first: []))
        let removable = [
            Item(name: "d/e", isDirectory: true, isLeftOut: true, isDeletable: true),
            Item(name: "d/e/.DS_Store", isLeftOut: true, isDeletable: true),
            Item(name: "d/.syncthing.x.tmp", isTemporary: true, isLeftOut: true),
        ]
        #expect(
            DirectoryRemoval.verdict(on: removable)
                == .remove(first: ["d/e/.DS_Store", "d/e", "d/.syncthing.x.tmp"]))
        #expect(
            DirectoryRemoval.verdict(on: removable + [Item(name: "d/i", isLeftOut: true)]) == .holdsIgnored(["d/i"]))
        #expect(
            DirectoryRemoval.verdict(on: [Item(name: "d/i", isLeftOut: true), Item(name: "d/k", local: kept)])
                == .holdsKept(["d/k"]))
        #expect(
            DirectoryRemoval.verdict(on: [
                Item(name: "d/k", local: kept), Item(name: "d/u"), Item(name: "d/c", local: kept, isUnchanged: false),
                Item(name: "d/t", local: S.here(S.tombstone(Self.old))),
                Item(name: "d/m", local: S.here(S.file("x", Self.old), .mustRescan)),
            ]) == .rescan(["d/c", "d/m", "d/t", "d/u"]))
    }

    /// What cannot be synced does not become so by another look.
    @Test func aDirectoryWithWhatCannotBeSyncedStays() {
        typealias Item = DirectoryRemoval.Item
        let pipe = Item(name: "d/p", isUnsyncable: true)
        let ignored = Item(name: "d/i", isLeftOut: true)
        let kept = Item(name: "d/k", local: S.here(S.file("one", Self.old, name: "d/k")))
        #expect(DirectoryRemoval.verdict(on: [pipe, ignored]) == .holdsUnsyncable(["d/p"]))
        #expect(DirectoryRemoval.verdict(on: [pipe, kept]) == .holdsKept(["d/k"]))
        #expect(DirectoryRemoval.verdict(on: [pipe, Item(name: "d/u")]) == .rescan(["d/u"]))
        #expect(
            DirectoryRemoval.verdict(on: [
                Item(name: "d/d", isDeletable: true, isUnsyncable: true),
                Item(name: "d/l", isLeftOut: true, isUnsyncable: true),
            ]) == .holdsIgnored(["d/l"]))
        // What is in it and was to go, too, is nothing that it is kept for.
        let left = Item(
            name: "d/e", isDirectory: true, isDeletedElsewhere: true, local: S.here(S.directory(Self.old, name: "d/e")))
        #expect(
            DirectoryRemoval.verdict(on: [left, Item(name: "d/e/p", isUnsyncable: true)]) == .holdsDeleted(["d/e"]))
        #expect(DirectoryRemoval.verdict(on: [left, kept]) == .holdsKept(["d/k"]))
    }
}

/// Times as disks keep them that do not keep all of them.
struct CoarseTimeTests {
    /// To the index the new time would be there, and to the disk the old one: the file would be modified for ever.
    @Test func aTimeThatIsCloseIsWrittenAllTheSame() {
        var rules = Sample.rules()
        rules.disk.hasCoarseTimes = true
        var here = Sample.file("one", Sample.version((Sample.other, 1)), modified: 571)
        here.modifiedNanoseconds = 790_000_000
        var global = Sample.file("one", Sample.version((Sample.other, 2)), modified: 572)
        let local = Sample.here(here)
        #expect(
            Reconciler.decide(local: local, global: global, isKept: true, rules: rules, unixSeconds: Sample.now)
                == .adopt(global, over: local, changing: .modificationTime))
        (global.modifiedSeconds, global.modifiedNanoseconds) = (here.modifiedSeconds, here.modifiedNanoseconds)
        #expect(
            Reconciler.decide(local: local, global: global, isKept: true, rules: rules, unixSeconds: Sample.now)
                == .record(.current(global)))
    }

    /// A scan after a death finds such a file with the time that the disk has: that is no change made here.
    @Test(
        arguments: [
            (-11_644_473_600, -2_147_483_648, true), (32_503_680_000, 15_032_385_535, true),
            (4_102_444_800, 2_147_483_647, true), (-11_644_473_600, -2_147_483_647, false),
            (571, 2_147_483_647, false),
        ] as [(Int64, Int64, Bool)])
    func aTimeThatTheDiskDoesNotHaveIsNoChange(_ announced: Int64, _ shown: Int64, _ isSame: Bool) {
        let files = [announced, shown].map { Sample.file("one", Sample.version((Sample.other, 1)), modified: $0) }
        #expect(files[0].isEquivalent(to: files[1], rules: Sample.rules()) == isSame)
        #expect(files[1].isEquivalent(to: files[0], rules: Sample.rules()) == isSame)
    }

    @Test(
        arguments: [
            ((7, 789), (7, 789), true, true), ((7, 789), (7, 0), false, true), ((7, 789), (6, 0), false, true),
            ((8, 0), (7, 1), false, true), ((8, 0), (6, 1), false, true), ((8, 0), (6, 0), false, false),
            ((9, 0), (6, 0), false, false), ((.min, 0), (.max, 0), false, false), ((.max, 1), (.max, 0), false, false),
            ((86_400, 5), (315_532_800, 0), false, true), ((.min, 0), (315_532_800, 0), false, true),
            ((400_000_000, 0), (315_532_800, 0), false, false), ((.max, 0), (4_354_819_199, 0), false, true),
            ((7, 0), (4_354_819_199, 0), false, false),
        ] as [((Int64, Int32), (Int64, Int32), Bool, Bool)])
    func timesWithinTwoSecondsAreTheSame(
        _ one: (Int64, Int32), _ other: (Int64, Int32), _ isExact: Bool, _ isClose: Bool
    ) {
        let files = [one, other].map { time in
            FileInfo(
                name: "x", kind: .file, modifiedSeconds: time.0, modifiedNanoseconds: time.1,
                version: VersionVector())
        }
        #expect(files[0].isModified(atTimeOf: files[1]) == isExact)
        #expect(files[0].isModified(closeToTimeOf: files[1]) == isClose)
        #expect(files[1].isModified(closeToTimeOf: files[0]) == isClose)
    }
}
