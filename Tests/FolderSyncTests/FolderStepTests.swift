import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import Glibc
import IndexStore
import Names
import Reconciliation
import SessionTestKit
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// Each step by itself on a real directory: what it does to the disk and the index, and what it asks for next. Nothing runs in the
/// folder but the step.
@Suite struct FolderStepTests {
    @Test func aScanFindsWhatCameChangedAndWent() async throws {
        let scene = try await StepScene()
        try scene.tree.write("one", to: "d/a")
        try scene.tree.write("two", to: "b")
        let first = try await scene.run(ScanStep(isRequested: true))
        #expect((first.output.changed, first.output.deleted, first.output.problems) == (3, 0, 0))
        #expect(try await scene.own("d/a")?.blocks.map(\.hash) == [SHA256.digest(Array("one".utf8))])

        try scene.tree.write("three!", to: "b")
        try scene.tree.remove("d/a")
        let second = try await scene.run(ScanStep(isRequested: true))
        #expect((second.output.changed, second.output.deleted) == (1, 1))
        #expect(try await scene.own("b")?.size == 6)
        #expect(try await scene.own("d/a")?.isDeleted == true)
        #expect(second.effects.counts.lastScan != nil)

        let third = try await scene.run(ScanStep(paths: [try RelativePath(parsing: "b")], isRequested: true))
        #expect((third.output.changed, third.output.deleted) == (0, 0))
        #expect(third.effects.counts.lastScan == nil, "that was no scan of the whole folder")
    }

    @Test(
        arguments: [
            (.zero, .seconds(3)), (.milliseconds(200), .seconds(3)), (.seconds(2), .seconds(18)),
            (.seconds(600), .seconds(60)),
        ] as [(Duration, Duration)])
    func whatIsReadInVainTakesATenthOfTheTime(_ cost: Duration, _ pause: Duration) {
        #expect(ScanStep.pause(after: cost) == pause)
    }

    @Test func whatIsPutIntoAnEmptiedRootConfirmsNothing() async throws {
        let scene = try await StepScene()
        let names = ["a", "b", "c", "d"]
        for name in names { try scene.tree.write(name, to: name) }
        try await scene.scan()
        for name in names { try scene.tree.remove(name) }
        let emptied = await #expect(throws: FolderHalt.self) { try await scene.scan() }
        #expect(emptied?.reason == .rootEmptied)
        scene.halt(emptied)

        try scene.tree.write("new", to: "new")
        let held = await #expect(throws: FolderHalt.self) { try await scene.scan() }
        #expect(held?.reason == .massDeletion)
        #expect(try await scene.own("a")?.isDeleted == false)

        for name in names { try scene.tree.write(name, to: name) }
        let back = try await scene.run(ScanStep(isRequested: true))
        #expect(back.effects.endsHalt && back.output.deleted == 0)
        #expect(try await scene.own("new")?.isDeleted == false)
    }

    @Test func whereDisksComeAndGoOtherDirectoriesAreWatched() async throws {
        let scene = try await StepScene(ignoring: "/left-out\n")
        for name in ["disk", "other", "left-out"] { try scene.tree.makeDirectory(name) }
        func changed(mounting names: Set<String>) async throws -> Set<String> {
            scene.mounts.names.withLock { $0 = names }
            return Set(try await scene.run(ScanStep(isRequested: true)).effects.changedMounts.map(\.text))
        }
        #expect(try await changed(mounting: ["other"]).isEmpty, "what was there before is watched as it is")
        #expect(try await changed(mounting: ["other", "disk"]) == ["disk"])
        #expect(try await changed(mounting: ["other", "disk", "left-out"]).isEmpty)
        #expect(try await changed(mounting: ["disk"]) == ["other"])
        #expect(try await changed(mounting: ["disk"]).isEmpty)
        #expect(try await changed(mounting: ["disk", "other"]) == ["other"])
    }

    /// As ext4 keeps a file of 1601: with the first time that it has.
    @Test func aTimeThatTheDiskDoesNotHaveStaysWhatWasAnnounced() async throws {
        let scene = try await StepScene()
        let bytes = Array("0123".utf8)
        let announced = FileInfo(
            name: "a", size: 4, permissions: 0o644, modifiedSeconds: -11_644_473_600,
            version: VersionVector([.init(id: StepScene.nas.shortID, value: 1)]), sequence: 100,
            modifiedBy: StepScene.nas.shortID, blockSize: 131_072,
            blocks: [BlockInfo(offset: 0, size: 4, hash: SHA256.digest(bytes))])
        try await scene.index.applyIndex(
            of: StepScene.id, device: StepScene.nas, files: [announced], replacesAll: false
        ) { _ in false }
        try scene.tree.write("0123", to: "a")
        try scene.tree.setPermissions(0o644, "a")
        let first = [timespec(tv_sec: 0, tv_nsec: 0), timespec(tv_sec: -2_147_483_648, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, scene.tree.path("a"), first, 0) == 0)

        try await scene.scan()
        #expect(try await scene.own("a")?.version == announced.version)
        #expect(try await scene.own("a")?.modifiedSeconds == announced.modifiedSeconds)
        #expect(try await scene.run(ScanStep(isRequested: true)).output.changed == 0)

        try scene.tree.setPermissions(0o600, "a")
        #expect(try await scene.run(ScanStep(isRequested: true)).output.changed == 1)
        #expect(try await scene.own("a")?.permissions == 0o600)
        #expect(try await scene.own("a")?.modifiedSeconds == announced.modifiedSeconds)
    }

    @Test func selectingWritesALineAndSaysWhatItCosts() async throws {
        let scene = try await StepScene(ignoring: "*\n", mode: .selective)
        try await scene.announce([("d", nil), ("d/a", "0123456789"), ("b", "x")], counter: 1)
        let dry = try await scene.run(SelectStep(paths: ["d/a"], isDryRun: true))
        #expect(dry.output.cost.fetchFiles == 1 && dry.output.cost.fetchBytes == 10)
        #expect(scene.tree.text(".stignore") == "*\n")
        #expect(dry.effects.place == nil)

        let real = try await scene.run(SelectStep(paths: ["d/a"]))
        #expect(real.output.added == ["!/d/a"])
        #expect(scene.tree.text(".stignore") == "!/d/a\n*\n")
        #expect(real.effects.selectionChanged && real.effects.place?.selection.isLeftOut("d/a") == false)
    }

    @Test func deselectingSaysWhatTheUsersOwnLinesKeep() async throws {
        let scene = try await StepScene(ignoring: "!/d/*1.txt\n*\n", mode: .selective)
        try await scene.announce([("d/a1.txt", "0123"), ("d/b2.txt", "0123")], counter: 1)
        #expect(try await scene.run(DeselectStep(paths: ["d"], local: .keep)).output.stillSelected == 1)
        #expect(try await scene.run(DeselectStep(paths: ["other"], local: .keep)).output.stillSelected == nil)
    }

    @Test func whatNobodyElseHasStaysUnlessThePersonInsists() async throws {
        let scene = try await StepScene(ignoring: "!/a\n*\n", mode: .selective)
        try scene.tree.write("mine", to: "a")
        try await scene.scan()
        let kept = try await scene.run(DeselectStep(paths: ["a"], local: .free))
        #expect(kept.output.freeing?.staying.map(\.reason) == ["no-other-copy"])
        #expect(scene.tree.text("a") == "mine")
        #expect(scene.tree.text(".stignore") == "*\n")

        let forced = try await scene.run(DeselectStep(paths: ["a"], local: .force))
        #expect(forced.output.freeing?.givenUp.map(\.path) == ["a"])
        #expect(scene.tree.text("a") == nil)
        #expect(try await scene.own("a")?.isDeleted != true, "that is no deletion")
    }

    /// As `fetch` makes them for what it fetches: the index has nothing of them on this disk.
    @Test func directoriesInWhichNothingIsLeftGoWithWhatWasFetched() async throws {
        let scene = try await StepScene(ignoring: "*\n", mode: .selective)
        for (counter, name) in ["films", "films/sub", "films/own"].enumerated() {
            try await scene.announce(directory: name, counter: UInt64(counter + 1))
        }
        try scene.tree.makeDirectory("films/sub")
        let freed = try await scene.run(DeselectStep(paths: ["films"], local: .free)).output.freeing
        #expect(freed?.stayingFiles == 0 && freed?.freedDirectories == 2)
        #expect(scene.tree.names() == [".stfolder", ".stignore"])

        try scene.tree.write("mine", to: "films/own/a")
        let kept = try await scene.run(DeselectStep(paths: ["films"], local: .free)).output.freeing
        #expect(kept?.freedDirectories == 0)
        #expect(scene.tree.text("films/own/a") == "mine")
    }

    @Test func whereAllIsDeletedNoDirectoryIsLeft() async throws {
        let scene = try await StepScene(ignoring: "!/d/kept\n*\n", mode: .selective)
        for name in ["d/kept", "d/sub/a"] { try scene.tree.write("mine", to: name) }
        try scene.tree.makeDirectory("e/empty")
        try await scene.scan()
        _ = try await scene.run(ResolveExtraneousStep(paths: ["d", "e"], action: .delete, isDryRun: true))
        #expect(scene.tree.text("d/sub/a") == "mine" && scene.tree.names("e") == ["empty"])
        _ = try await scene.run(ResolveExtraneousStep(paths: ["d", "e"], action: .delete))
        #expect(scene.tree.names() == [".stfolder", ".stignore", "d"])
        #expect(scene.tree.names("d") == ["kept"])
    }

    /// A disk that nothing can be written to while it is full.
    private final class FullDisk: DiskInterposer {
        let isFull = Mutex(false)

        func verdict(on change: DiskChange) -> DiskVerdict {
            if case .write = change, isFull.withLock({ $0 }) { .fail(ENOSPC) } else { .proceed }
        }
    }

    @Test func aFullDiskIsSaidWithoutTheAdviceToDeselect() async throws {
        let disk = FullDisk()
        let scene = try await StepScene(ignoring: "!/a\n*\n", mode: .selective, interposer: disk)
        disk.isFull.withLock { $0 = true }
        await #expect(throws: FolderError.noSpace(".stignore")) {
            _ = try await scene.run(DeselectStep(paths: ["a"], local: .free))
        }
        #expect(scene.tree.names() == [".stfolder", ".stignore"], "nothing is left of what was written")
        #expect(scene.tree.text(".stignore") == "!/a\n*\n")
        disk.isFull.withLock { $0 = false }
        _ = try await scene.run(DeselectStep(paths: ["a"], local: .free))
        #expect(scene.tree.text(".stignore") == "*\n")
    }

    @Test func aPlanDoesWhatNeedsNoFetchAndNamesTheRest() async throws {
        let scene = try await StepScene()
        try scene.tree.write("old", to: "gone")
        try await scene.scan()
        let version = try #require(try await scene.own("gone")?.version)
        try await scene.announce([("new", "0123"), ("gone", nil)], counter: 1, after: version)
        let round = try await scene.run(
            PlanPullStep(names: nil, cursor: nil, attempted: [], deletions: [], countsNeed: true))
        #expect(round.output.fetches.map(\.file.name) == ["new"])
        #expect(round.output.isNeeded && round.output.next == nil)
        #expect(round.effects.counts.need?.items.files == 1)
        #expect(scene.tree.text("new") == nil)
    }

    /// One name of a group cannot be had, and another has only to be noted: it is not tried again and again for that.
    @Test func aGroupIsTriedOnce() async throws {
        let scene = try await StepScene { $0.groups = ["**/{a.txt,b}"] }
        try scene.tree.write("old", to: "d/a.txt")
        try await scene.scan()
        try scene.tree.remove("d/a.txt")
        try await scene.scan()
        let version = try #require(try await scene.own("d/a.txt")).version
        try await scene.announce([("d/a.txt", nil), ("d/b", "new")], counter: 1, after: version)
        func fetches(after attempted: Set<NameKey>) async throws -> [String] {
            let step = PlanPullStep(
                names: nil, cursor: nil, attempted: attempted, deletions: [], countsNeed: false)
            return try await scene.run(step).output.fetches.map(\.file.name)
        }
        #expect(try await fetches(after: []) == ["d/b"])
        #expect(try await fetches(after: ["d/b"]).isEmpty)
    }

    @Test func aDeletionOfAnotherDeviceIsCarriedOut() async throws {
        let scene = try await StepScene { $0.versions = FolderVersions(kind: .trashcan) }
        try scene.tree.write("same", to: "a")
        try scene.tree.setPermissions(0o644, "a")
        try scene.tree.setModified(1_700_000_000, "a")
        try await scene.announce([("a", "same")], counter: 1)
        try await scene.scan()
        #expect(
            try await scene.own("a")?.version
                == VersionVector([.init(id: StepScene.nas.shortID, value: 1)]), "adopted")
        try await scene.announce([("a", nil)], counter: 2)
        let round = try await scene.run(
            PlanPullStep(names: ["a"], cursor: nil, attempted: [], deletions: [], countsNeed: true))
        #expect(round.output.fetches.isEmpty && round.output.isComplete)
        #expect(scene.tree.text("a") == nil)
        #expect(scene.tree.text(".stversions/a") == "same")
        #expect(try await scene.own("a")?.isDeleted == true)
    }

    /// As `cp -al` and `chattr` do: nothing is reported of it.
    @Test func aRenameOfAFileWhoseTimeOfChangeIsAnotherFollowsItsScan() async throws {
        let scene = try await StepScene()
        try scene.tree.write("same", to: "a")
        try scene.tree.setPermissions(0o644, "a")
        try scene.tree.setModified(1_700_000_000, "a")
        try await scene.announce([("a", "same")], counter: 1)
        try await scene.scan()
        let path = try RelativePath(parsing: "a")
        let seen = try scene.tree.root.status(of: path)?.changed
        // The disk's clock may stand still for a moment.
        while try scene.tree.root.status(of: path)?.changed == seen { try scene.tree.setPermissions(0o644, "a") }
        try await scene.announce([("a", nil), ("b", "same")], counter: 2)
        let plan = PlanPullStep(names: nil, cursor: nil, attempted: [], deletions: [], countsNeed: false)
        let early = try await scene.run(plan)
        #expect(!early.output.isComplete && early.output.fetches.isEmpty && scene.tree.text("a") == "same")
        #expect(early.effects.doubted.contains(path), "what was renamed is looked at again")
        _ = try await scene.run(ScanStep(paths: early.effects.doubted.sorted()))
        let late = try await scene.run(plan)
        #expect(late.output.isComplete && late.output.fetches.isEmpty)
        #expect(scene.tree.text("a") == nil && scene.tree.text("b") == "same")
    }

    @Test func whatIsDeletedEverywhereGoesFirstHere() async throws {
        let scene = try await StepScene()
        try scene.tree.write("one", to: "d/a")
        try scene.tree.write("two", to: "b")
        try await scene.scan()
        let dry = try await scene.run(DeleteEverywhereStep(paths: ["d"], isDryRun: true))
        #expect(dry.output.files == 1 && scene.tree.text("d/a") == "one")
        _ = try await scene.run(DeleteEverywhereStep(paths: ["d"]))
        #expect(scene.tree.names() == [".stfolder", "b"])
        #expect(try await scene.own("d/a")?.isDeleted == true)
        #expect(try await scene.own("d")?.isDeleted == true)
        #expect(try await scene.own("b")?.isDeleted == false)
        await #expect(throws: FolderError.self) { try await scene.run(DeleteEverywhereStep(paths: ["nowhere"])) }
    }

    /// What takes a deletion back restores what this deletion archived, and nothing that was there before.
    @Test func aDeletionSaysWhatItArchived() async throws {
        let scene = try await StepScene { $0.versions = FolderVersions(kind: .simple) }
        let names = ["fetched", "here", "not here"]
        try scene.write(["fetched", "here"].map { ($0, "first") })
        try await scene.announce(names.map { ($0, "first") }, counter: 1)
        try await scene.scan()
        try await scene.index.noteFetched(
            [FetchedFile(name: "fetched", size: 5, modifiedSeconds: 1_700_000_000, modifiedNanoseconds: 5)],
            in: StepScene.id)
        try await scene.announce([("fetched", "second")], counter: 2)
        for name in names { try scene.tree.write("older", to: ".stversions/\(name)~20261101-101112") }

        let dry = try await scene.run(DeleteEverywhereStep(paths: names, isDryRun: true)).output
        #expect(dry.files == 3 && dry.archived.isEmpty)
        let done = try await scene.run(DeleteEverywhereStep(paths: names)).output
        #expect(done.files == 3 && done.localFiles == 2 && done.archived.map(\.path) == ["here"])
        let archived = try #require(done.archived.first)
        _ = try await scene.run(RestoreVersionStep(path: archived.path, time: archived.at, isConfirmed: false))
        #expect(scene.tree.text("here") == "first" && scene.tree.text("fetched") == nil)

        let without = try await StepScene()
        try without.tree.write("one", to: "a")
        try await without.scan()
        #expect(try await without.run(DeleteEverywhereStep(paths: ["a"])).output.archived.isEmpty)
    }

    /// Others have a later version by now; what was changed here is another matter.
    @Test func whatWasFetchedOfAnEarlierVersionIsDeletedWithTheLatest() async throws {
        let scene = try await StepScene()
        let names = ["fetched", "edited", "not fetched"]
        try scene.write(names.map { ($0, "first") })
        try await scene.announce(names.map { ($0, "first") }, counter: 1)
        try await scene.scan()
        try await scene.index.noteFetched(
            ["fetched", "edited"].map {
                FetchedFile(name: $0, size: 5, modifiedSeconds: 1_700_000_000, modifiedNanoseconds: 5)
            }, in: StepScene.id)
        try await scene.announce(names.map { ($0, "second") }, counter: 2)
        try scene.tree.write("first, and more", to: "edited")

        let answer = try await scene.run(DeleteEverywhereStep(paths: names))
        #expect(answer.output.staying.map(\.path) == ["edited", "not fetched"])
        #expect(scene.tree.names() == [".stfolder", "edited", "not fetched"])
        #expect(try await scene.own("fetched")?.isDeleted == true)
    }

    @Test func whatWasFetchedOfAnEarlierVersionIsExtraneousAndReplacedIfSelected() async throws {
        let scene = try await StepScene()
        try scene.tree.write("first", to: "a")
        try scene.tree.setPermissions(0o644, "a")
        try scene.tree.setModified(1_700_000_000, "a")
        try await scene.announce([("a", "first")], counter: 1)
        try await scene.scan()
        try scene.tree.write("*\n", to: ".stignore")
        let status = try #require(try scene.tree.root.status(of: try RelativePath(parsing: "a")))
        try await scene.index.noteFetched([FetchedFile(name: "a", status)], in: StepScene.id)
        let fetched = try await scene.run(DeselectStep(paths: ["b"], local: .free))
        #expect(fetched.effects.counts.extraneous == 0)
        let adopted = try await scene.run(SelectStep(paths: ["a"], isDryRun: true)).output.cost
        #expect(adopted.adoptedFiles == 1 && adopted.fetchFiles == 0)

        try await scene.announce([("a", "second")], counter: 2)
        let former = try await scene.run(DeselectStep(paths: ["b"], local: .free))
        #expect(former.effects.counts.extraneous == 1)
        let replaced = try await scene.run(SelectStep(paths: ["a"], isDryRun: true)).output.cost
        #expect(replaced.adoptedFiles == 0 && replaced.fetchFiles == 1 && replaced.fetchBytes == 6)
        #expect(scene.tree.text("a") == "first")
        _ = try await scene.run(ResolveExtraneousStep(paths: ["a"], action: .delete))
        #expect(scene.tree.text("a") == nil)
        #expect(try await scene.own("a")?.isDeleted != true)
    }

    /// `reset index` makes the same folder again at once.
    @Test func aFolderThatWasStoppedLeavesItsRootToTheNext() async throws {
        let (tree, home) = (try TemporaryTree(), try TemporaryDirectory())
        try tree.makeDirectory(".stfolder")
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(StepScene.id, newIndexID: IndexID(rawValue: 1))
        let configuration = FolderConfiguration(id: StepScene.id, path: tree.root.path, mode: .full, devices: [])
        let first = FolderSync.Folder(idle: configuration, of: StepScene.me, index: index, isExclusive: true)
        let next = FolderSync.Folder(idle: configuration, of: StepScene.me, index: index, isExclusive: true)
        #expect(first.boards.places.refresh().failure == nil)
        #expect(next.boards.places.refresh().failure?.reason == .error)
        await first.runner.stop()
        #expect(next.boards.places.refresh().failure == nil)
    }

    @Test func bothSidesOfAConflictAreKept() async throws {
        let scene = try await StepScene()
        let copy = "a.sync-conflict-20261127-101112-ABCDEFG.txt"
        try scene.tree.write("mine", to: "a.txt")
        try scene.tree.write("theirs", to: copy)
        try await scene.scan()
        let answer = try await scene.run(ResolveConflictsStep(path: "a.txt", keep: .both))
        let renamed = try #require(answer.output.first?.renamed)
        #expect(answer.output.count == 1 && answer.output.first?.problem == nil)
        #expect(scene.tree.text("a.txt") == "mine")
        #expect(scene.tree.text(renamed) == "theirs" && scene.tree.text(copy) == nil)
        #expect(answer.effects.touchesConflicts)
        await #expect(throws: FolderError.self) {
            try await scene.run(ResolveConflictsStep(path: "a.txt", keep: .both))
        }
    }

    /// Another device chooses the names of its files: none of them is a way to what is never synced.
    @Test(arguments: [".stignore", ".stfolder/x", ".syncthing.a.tmp"])
    func whatIsNeverSyncedHasNoConflicts(name: String) async throws {
        let scene = try await StepScene(ignoring: "*.iso\n")
        try scene.tree.write("own", to: ".stfolder/x")
        try scene.tree.write("own", to: ".syncthing.a.tmp")
        let copy = ConflictName.copy(
            of: name, at: ConflictTime(unixSeconds: 1_795_000_000, utcOffset: 0), by: StepScene.me.shortID)
        try scene.tree.write("*\n", to: copy)
        try await scene.scan()
        let before = scene.tree.text(name)
        #expect(try await ConflictReading(folder: scene.reading()).list() == [])
        for path in [name, copy] {
            await #expect(throws: FolderError.noConflict(path)) {
                try await scene.run(ResolveConflictsStep(path: path, keep: .theirs))
            }
        }
        #expect(scene.tree.text(name) == before && scene.tree.text(copy) == "*\n")
    }

    /// The version with the file's name is deleted everywhere: keeping it would delete the other one too.
    @Test(arguments: [false, true])
    func aConflictIsNotResolvedTowardsWhatIsGone(isScanned: Bool) async throws {
        let scene = try await StepScene()
        let copy = "a.sync-conflict-20261127-101112-\(StepScene.nas.shortID).txt"
        try scene.tree.write("from there", to: "a.txt")
        try scene.tree.write("from here", to: copy)
        try await scene.scan()
        try scene.tree.remove("a.txt")
        if isScanned { try await scene.scan() }
        let refused = try await scene.run(ResolveConflictsStep(path: "a.txt", keep: .theirs)).output.first
        #expect(
            refused?.problem?.contains("no device has that version") == true
                && refused?.problem?.contains("--keep mine") == true)
        #expect(scene.tree.text(copy) == "from here")
        let shown = try await ConflictReading(folder: scene.reading()).list().first
        #expect(shown?.theirs.size == nil && shown?.theirs.device.hasPrefix("\(StepScene.nas.shortID)") == true)
        let kept = try await scene.run(ResolveConflictsStep(path: "a.txt", keep: .mine)).output.first
        #expect(kept?.problem == nil && scene.tree.text("a.txt") == "from here" && scene.tree.text(copy) == nil)
    }

    /// The version with the file's name is on another device: nothing is lost with the copy.
    @Test func aConflictIsResolvedTowardsWhatAnotherDeviceHas() async throws {
        let scene = try await StepScene(ignoring: "!/a.sync*\n*\n", mode: .selective)
        let copy = "a.sync-conflict-20261127-101112-\(StepScene.nas.shortID).txt"
        try await scene.announce([("a.txt", "from there")], counter: 1)
        try scene.tree.write("from here", to: copy)
        try await scene.scan()
        let kept = try await scene.run(ResolveConflictsStep(path: copy, keep: .theirs)).output.first
        #expect(kept?.problem == nil && scene.tree.text(copy) == nil)
    }

    @Test func aVersionComesBack() async throws {
        let scene = try await StepScene { $0.versions = FolderVersions(kind: .simple) }
        try scene.tree.write("old", to: ".stversions/a~20261101-101112.txt")
        let restored = try await scene.run(RestoreVersionStep(path: "a.txt", time: nil, isConfirmed: false))
        #expect(scene.tree.text("a.txt") == "old")
        #expect(Set(restored.effects.changes.map(\.name)) == ["a.txt"])
        #expect(scene.tree.text(".stversions/a~20261101-101112.txt") == "old", "it is a copy")
        try scene.tree.write("new", to: "b.txt")
        try scene.tree.write("old", to: ".stversions/b~20261101-101112.txt")
        try await scene.scan()
        await #expect(throws: FolderError.self) {
            try await scene.run(RestoreVersionStep(path: "b.txt", time: nil, isConfirmed: false))
        }
        #expect(scene.tree.text("b.txt") == "new")
    }

    /// A restored version is the newest on all devices: what this one does not send is not restored.
    @Test func aFolderThatOnlyReceivesRestoresNothing() async throws {
        let scene = try await StepScene {
            $0.kind = .receiveOnly
            $0.versions = FolderVersions(kind: .simple)
        }
        try await scene.announce([("a.txt", "new")], counter: 1)
        try scene.tree.write("new", to: "a.txt")
        try scene.tree.write("old", to: ".stversions/a~20261101-101112.txt")
        try await scene.scan()
        await #expect(throws: FolderError.receivesOnly(.restore)) {
            try await scene.run(RestoreVersionStep(path: "a.txt", time: nil, isConfirmed: true))
        }
        #expect(scene.tree.text("a.txt") == "new")
    }

    /// Selecting a file brings no version back: what is missing is said, and what makes versions.
    @Test func whereThereIsNoVersionThatIsSaid() async throws {
        func problem(_ scene: StepScene, _ path: String) async throws -> ControlError {
            let error = await #expect(throws: FolderError.self) {
                try await scene.run(RestoreVersionStep(path: path, time: nil, isConfirmed: false))
            }
            return ControlError(try #require(error), folder: FolderConfiguration(id: StepScene.id, path: "/f"))
        }
        let without = try await StepScene(ignoring: "*\n", mode: .selective)
        let none = try await problem(without, "a.txt")
        #expect(none.code == .noSuchPath)
        #expect(
            none.message.contains("no archived version") && none.message.contains("folder set docs versions=simple"))
        let keeping = try await StepScene(ignoring: "*\n", mode: .selective) {
            $0.versions = FolderVersions(kind: .simple)
        }
        #expect(try await problem(keeping, "a.txt").message.contains("`synctrain versions list`"))
        try keeping.tree.write("old", to: ".stversions/a~20261101-101112.txt")
        #expect(try await problem(keeping, "a.txt").message.contains("not selected"))
    }

    @Test func extraneousFilesAreCountedAndSettled() async throws {
        let scene = try await StepScene(ignoring: "!/kept\n*\n", mode: .selective)
        try scene.tree.write("one", to: "d/a")
        try scene.tree.write("two", to: "kept")
        #expect(try await scene.run(CountExtraneousStep()).effects.counts.extraneous == 1)
        await #expect(throws: FolderError.self) {
            try await scene.run(ResolveExtraneousStep(paths: ["kept"], action: .delete))
        }
        let settled = try await scene.run(ResolveExtraneousStep(paths: ["d/a"], action: .select))
        #expect(scene.tree.text(".stignore")?.contains("!/d/a") == true)
        #expect(settled.effects.counts.extraneous == 0)
        #expect(scene.tree.text("d/a") == "one")
    }

    /// A mark behind a slash makes one Character of both, and no other path of it.
    @Test func extraneousFilesKeepTheirPlaceBelowADirectoryThatIsMoved() async throws {
        let scene = try await StepScene(ignoring: "!/kept\n*\n", mode: .selective)
        try scene.tree.write("one", to: "d/\u{301}x")
        let target = scene.tree.outside("")
        _ = try await scene.run(ResolveExtraneousStep(paths: ["d"], action: .moveTo, directory: target))
        let moved = try RootDirectory(path: target).open(reading: RelativePath(parsing: "d/\u{301}x"))
        #expect(try moved.read(count: 9, at: 0) == Array("one".utf8))
        #expect(scene.tree.text("d/\u{301}x") == nil)
    }

    @Test func aFolderThatOnlySendsOverrides() async throws {
        let scene = try await StepScene { $0.kind = .sendOnly }
        try scene.tree.write("mine", to: "a")
        try await scene.scan()
        let mine = try #require(try await scene.own("a")?.version)
        try await scene.announce([("a", "theirs")], counter: 1, after: mine)
        let dry = try await scene.run(OverrideStep(isDryRun: true))
        #expect(dry.output.files == 1)
        #expect(try await scene.own("a")?.version == mine)
        _ = try await scene.run(OverrideStep())
        let after = try #require(try await scene.own("a")?.version)
        let theirs = VersionVector(mine.counters + [.init(id: StepScene.nas.shortID, value: 1)])
        #expect(after.compare(theirs) == .greater)
        #expect(scene.tree.text("a") == "mine")
    }

    @Test func theArchiveLetsOldVersionsGo() async throws {
        let scene = try await StepScene { $0.versions = FolderVersions(kind: .simple, keep: 1) }
        try scene.tree.write("old", to: ".stversions/a~20251101-101112.txt")
        try scene.tree.write("newer", to: ".stversions/a~20251102-101112.txt")
        _ = try await scene.run(CleanArchiveStep())
        #expect(scene.tree.names(".stversions") == ["a~20251102-101112.txt"])
    }
}
