import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import Foundation
import IndexStore
import Reconciliation
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync

/// Steps that settle what a person or the folder's conflict command has decided, each by itself on a real directory.
@Suite struct SettlingStepTests {
    private static func version(_ counter: UInt64) -> VersionVector {
        VersionVector([.init(id: StepScene.nas.shortID, value: counter)])
    }

    // MARK: selecting

    @Test func aFolderKeepsEverythingOrWhatIsSelected() async throws {
        // As the runner has it: in this mode no lines at all are lines, too.
        let scene = try await StepScene(ignoring: "!/a\n*\n")
        try await scene.announce([("a", "0123"), ("b", "4567")], counter: 1)
        let dry = try await scene.run(ConvertStep(mode: .full, old: .selective, isDryRun: true))
        #expect(dry.output.removed.contains("*") && dry.output.cost.fetchFiles == 1)
        #expect(scene.tree.text(".stignore") == "!/a\n*\n" && dry.effects.place == nil)
        let full = try await scene.run(ConvertStep(mode: .full, old: .selective))
        #expect(full.effects.place?.selection.isLeftOut("b") == false)
        #expect(scene.tree.text(".stignore")?.contains("*") != true)

        let whole = try await StepScene(ignoring: "*.tmp\n")
        let selective = try await whole.run(ConvertStep(mode: .selective, old: .full))
        #expect(selective.output.added.contains("*"))
        #expect(selective.effects.place?.selection.isLeftOut("b") == true)
        #expect(whole.tree.text(".stignore")?.hasPrefix("*.tmp\n") == true, "lines of a person stay")
    }

    /// While the lines are lost nothing is synced; what the way out costs is said before, in either mode.
    @Test func aLostSelectionIsReplacedAtACostThatIsSaid() async throws {
        let scene = try await StepScene()
        try await scene.announce([("a", "0123"), ("b", "4567"), ("c", "89")], counter: 1)
        try scene.tree.write("0123", to: "a")
        try scene.tree.setPermissions(0o644, "a")
        try scene.tree.setModified(1_700_000_000, "a")
        try await scene.scan()
        let full = try await scene.run(ConvertStep(mode: .full, old: .selective, isDryRun: true)).output.cost
        #expect(full == .init(fetchFiles: 2, fetchBytes: 6))
        let selective = try await scene.run(ConvertStep(mode: .selective, old: .selective, isDryRun: true)).output.cost
        #expect(selective == .init(extraneousFiles: 1, extraneousBytes: 4))
        let known = try await scene.run(ConvertStep(mode: .full, old: .full, isDryRun: true)).output.cost
        #expect(known == .init(), "everything was selected before")
    }

    @Test func aSelectionFollowsAFileThatIsRenamedElsewhere() async throws {
        let scene = try await StepScene(ignoring: "!/a\n*\n", mode: .selective)
        try scene.tree.write("same", to: "a")
        try scene.tree.setPermissions(0o644, "a")
        try scene.tree.setModified(1_700_000_000, "a")
        try await scene.announce([("a", "same")], counter: 1)
        try await scene.scan()
        #expect(try await scene.own("a")?.version == Self.version(1), "adopted")
        let early = try await scene.run(FollowElsewhereStep(names: nil))
        #expect(!early.output && scene.tree.text(".stignore") == "!/a\n*\n")
        try await scene.announce([("a", nil), ("b", "same"), ("c", "other")], counter: 2)
        let late = try await scene.run(FollowElsewhereStep(names: nil))
        #expect(late.output)
        #expect(late.effects.place?.selection.isLeftOut("b") == false)
        #expect(late.effects.place?.selection.isLeftOut("c") == true)
        #expect(scene.tree.text(".stignore")?.contains("!/b\n") == true)
        #expect(scene.tree.text("a") == "same", "the pull moves it")
    }

    /// Of a directory that another device renames, all files are announced before the end of the directory, and a pull may begin
    /// in between. What is left of it here would stay, as what nobody selects does.
    @Test func aDirectoryOfWhichAPartWasHereGoesWhenItsEndIsAnnouncedLast() async throws {
        let scene = try await StepScene(ignoring: "!/d/a\n*\n", mode: .selective)
        try scene.tree.makeDirectory("d")
        try scene.tree.write("same", to: "d/a")
        try scene.tree.setPermissions(0o644, "d/a")
        try scene.tree.setModified(1_700_000_000, "d/a")
        try await scene.announce(directory: "d", counter: 1)
        try await scene.announce(directory: "d/sub", counter: 1)
        try await scene.announce([("d/a", "same")], counter: 1)
        try await scene.scan()
        func pull() async throws {
            _ = try await scene.run(FollowElsewhereStep(names: nil))
            try await scene.scan()
            let plan = PlanPullStep(names: nil, cursor: nil, attempted: [], deletions: [], countsNeed: true)
            #expect(try await scene.run(plan).output.fetches.isEmpty)
            _ = try await scene.run(EndPullStep(names: nil))
        }
        try await scene.announce(directory: "e", counter: 2)
        try await scene.announce([("d/a", nil), ("e/a", "same")], counter: 2)
        try await pull()
        #expect(scene.tree.text("e/a") == "same" && scene.tree.text("d/a") == nil)
        try await scene.announce(directory: "d/sub", isDeleted: true, counter: 3)
        try await scene.announce(directory: "d", isDeleted: true, counter: 3)
        try await pull()
        #expect(scene.tree.names().sorted() == [".stfolder", ".stignore", "e"])
        #expect(scene.tree.text(".stignore")?.contains("/d/a") == false)
        #expect(scene.tree.text(".stignore")?.contains("!/e/a\n") == true)
    }

    /// A file that is edited here while another device renames its directory keeps its old name: the edit wins over the deletion.
    @Test(arguments: [true, false])
    func aDirectoryThatIsRenamedElsewhereStaysSelectedIfAFileInItWasEdited(isDeletedThere: Bool) async throws {
        let scene = try await StepScene(ignoring: "!/d\n*\n", mode: .selective)
        try await scene.announce(directory: "d", counter: 1)
        let files = [("d/a", "a"), ("d/b", "bb"), ("d/c", "ccc")]
        try await scene.announce(files.map { ($0, $1) }, counter: 1)
        try scene.write(files)
        try await scene.scan()
        try scene.tree.write("edited", to: "d/a")
        try await scene.scan()
        try await scene.announce(directory: "e", counter: 2)
        try await scene.announce(
            [("e/a", "a"), ("e/b", "bb"), ("e/c", "ccc"), ("d/a", nil), ("d/b", nil), ("d/c", nil)], counter: 2)
        // Its end is announced last, or never, if the other device has fetched the edit before.
        if isDeletedThere { try await scene.announce(directory: "d", isDeleted: true, counter: 2) }
        let follow = try await scene.run(FollowElsewhereStep(names: isDeletedThere ? nil : ["d/b", "d/c"]))
        #expect(follow.output)
        let selection = try #require(follow.effects.place?.selection)
        for name in ["e", "e/a", "e/b", "d", "d/a"] { #expect(!selection.isLeftOut(name), "\(name)") }
        #expect(selection.isLeftOut("f"))
    }

    /// A part of a directory that is moved elsewhere is no rename of the directory, whatever is left in it.
    @Test func aDirectoryOfWhichAPartIsMovedElsewhereIsNotFollowed() async throws {
        let scene = try await StepScene(ignoring: "!/d\n*\n", mode: .selective)
        try await scene.announce(directory: "d", counter: 1)
        let files = [("d/a", "a"), ("d/b", "bb")]
        try await scene.announce(files.map { ($0, $1) }, counter: 1)
        try scene.write(files)
        try await scene.scan()
        try scene.tree.write("edited", to: "d/a")
        try await scene.scan()
        try await scene.announce(directory: "e", counter: 2)
        try await scene.announce([("e/b", "bb"), ("d/b", nil)], counter: 2)
        #expect(try await scene.run(FollowElsewhereStep(names: ["d/b"])).output == false)
        #expect(scene.tree.text(".stignore") == "!/d\n*\n")
    }

    // MARK: renames here

    /// To the index the old names are not new, but deleted.
    @Test func aDirectoryThatIsRenamedBackIsNotTakenForDeleted() async throws {
        let scene = try await StepScene()
        for number in 0..<120 { try scene.tree.write("\(number)", to: "a/\(number)") }
        try await scene.scan()
        for (from, to) in [("a", "b"), ("b", "a"), ("a", "b")] {
            try FileManager.default.moveItem(atPath: scene.tree.path(from), toPath: scene.tree.path(to))
            try await scene.scan()
            #expect(try await scene.own("\(to)/7")?.isDeleted == false)
            #expect(try await scene.own("\(from)/7")?.isDeleted == true)
        }
        // What comes back makes up for no more than is gone.
        try FileManager.default.moveItem(atPath: scene.tree.path("b/7"), toPath: scene.tree.path("again"))
        try scene.tree.remove("b")
        await #expect(throws: FolderHalt.self) { try await scene.scan() }
    }

    // MARK: conflicts

    private struct ListConflicts: FolderStep {
        var path: String?

        func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> [Conflict] {
            let reading = ConflictReading(folder: folder)
            guard let path else { return try await reading.list() }
            return try await reading.details(path).map(\.conflict)
        }
    }

    /// The stem of a long name is cut, so that the name of its conflict copy is not too long.
    @Test func theConflictCopyOfALongNameIsListedAsThatFiles() async throws {
        let scene = try await StepScene()
        let name = "d/\(String(repeating: "n", count: 240)).txt"
        let copy = ConflictName.copy(of: name, at: ConflictTime(unixSeconds: 1_795_226_608), by: StepScene.nas.shortID)
        try scene.tree.write("won", to: name)
        try scene.tree.write("lost", to: copy)
        try scene.tree.write("other", to: "d/\(String(repeating: "n", count: 100)).txt")
        try await scene.scan()
        for path in [nil, name, copy] {
            let conflicts = try await scene.run(ListConflicts(path: path)).output
            #expect(conflicts.map(\.path) == [name] && conflicts.map(\.copy) == [copy])
            let sizes = Set(conflicts.flatMap { [$0.mine.size, $0.theirs.size] })
            #expect(sizes == [3, 4], "both are there")
        }
    }

    private struct MakeConflictCopy: FolderStep {
        let copy: String
        let path: String

        func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
            try await folder.conflictCopyMade(
                RelativePath(parsing: copy), of: RelativePath(parsing: path), &work)
        }
    }

    /// Other devices' clocks may be ahead, and a copy may be named by the time of its file.
    @Test func aConflictCopyIsNotTheOneTooManyWhenItIsMade() async throws {
        let scene = try await StepScene { $0.maxConflicts = 2 }
        let later = ["20990101-080000", "20990101-080100"].map { "report.sync-conflict-\($0)-ABCDEFG.txt" }
        let (made, own) = ("report.sync-conflict-20261121-140305-ABCDEFG.txt", "report.sync-conflict-20200101-mine.txt")
        for name in later + [made, own, "report.txt"] { try scene.tree.write(name, to: name) }
        _ = try await scene.run(MakeConflictCopy(copy: made, path: "report.txt"))
        #expect(scene.tree.text(made) == made && scene.tree.text(own) == own)
        #expect(later.compactMap { scene.tree.text($0) }.count == 1)
    }

    // MARK: versions

    private struct ListVersions: FolderStep {
        func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> (all: [String], deleted: [String]) {
            let reading = VersionReading(folder: folder)
            let all = Mutex<[String]>([])
            try await reading.list(below: "") { version in all.withLock { $0.append(version.path) } }
            var deleted: [String] = []
            try await reading.deleted(below: "") { deleted.append($0.path) }
            return (all.withLock { $0 }, deleted)
        }
    }

    @Test func theVersionOfALongNameIsListedAsThatFilesAndIsNotDeleted() async throws {
        let scene = try await StepScene { $0.versions.kind = .simple }
        let name = "d/\(String(repeating: "n", count: 240)).txt"
        let time = ConflictTime(unixSeconds: 1_795_226_608)
        try scene.tree.write("here", to: name)
        for name in [name, "d/gone.txt"] {
            try scene.tree.write("before", to: ".stversions/\(VersionName.tagged(name, at: time))")
        }
        try await scene.scan()
        let listed = try await scene.run(ListVersions()).output
        #expect(listed.all.sorted() == ["d/gone.txt", name])
        #expect(listed.deleted == ["d/gone.txt"])
    }

    @Test func whereAnArchiveWasMadeIsNoted() async throws {
        let scene = try await StepScene()
        let (one, two) = (scene.tree.outside("one"), scene.tree.outside("two"))
        for path in [one, two] {
            scene.configure { $0.versions = FolderVersions(kind: .simple, path: path) }
            _ = try await scene.run(PrepareArchiveStep())
            #expect(try await scene.index.archive(of: StepScene.id) == .made(path))
            #expect(FileManager.default.fileExists(atPath: "\(path)/.synctrain-archive"))
        }
        // Gone, as with its disk.
        try FileManager.default.removeItem(atPath: two)
        _ = try await scene.run(PrepareArchiveStep())
        #expect(!FileManager.default.fileExists(atPath: two))
        // In use.
        try FileManager.default.createDirectory(atPath: two + "/mine", withIntermediateDirectories: true)
        scene.configure { $0.versions = FolderVersions(kind: .simple, path: one) }
        _ = try await scene.run(PrepareArchiveStep())
        scene.configure { $0.versions = FolderVersions(kind: .simple, path: two) }
        _ = try await scene.run(PrepareArchiveStep())
        #expect(try await scene.index.archive(of: StepScene.id) == .made(one))
        #expect(try FileManager.default.contentsOfDirectory(atPath: two) == ["mine"])
    }

    // MARK: halts

    @Test func deletionsThatWaitAreConfirmedAndNoOthers() async throws {
        let scene = try await StepScene()
        let names = (0..<140).map { "f\($0)" }
        for name in names + ["late"] {
            try scene.write([(name, name)])
        }
        try scene.tree.makeDirectory("d")
        try await scene.announce(directory: "d", counter: 1)
        try await scene.announce((names + ["late"]).map { ($0, $0) }, counter: 1)
        try await scene.scan()
        await #expect(throws: FolderError.self, "nothing waits") { try await scene.run(ConfirmStep(heldDeletions: 0)) }

        try await scene.announce(names.map { ($0, nil) }, counter: 10)
        try await scene.announce(directory: "d", isDeleted: true, counter: 11)
        let plan = PlanPullStep(names: nil, cursor: nil, attempted: [], deletions: [], countsNeed: true)
        _ = try await scene.run(plan)
        #expect(scene.tree.names().count == names.count + 3, "held back")
        let dry = try await scene.run(ConfirmStep(heldDeletions: 0, isDryRun: true))
        #expect(dry.output.deletions == Int64(names.count + 1) && dry.output.isHere == true)
        _ = try await scene.run(plan)
        #expect(scene.tree.names().count == names.count + 3, "a dry run confirms nothing")

        let confirmed = try await scene.run(ConfirmStep(heldDeletions: 0))
        #expect(confirmed.output.deletions == dry.output.deletions)
        _ = try await scene.run(plan)
        #expect(scene.tree.names() == [".stfolder", "late"])
        #expect(try await scene.own("f0")?.isDeleted == true)
    }

    @Test func whatIsMissingIsForgottenAndNotDeleted() async throws {
        let scene = try await StepScene()
        for name in ["a", "b", "d/mine"] { try scene.tree.write("one", to: name) }
        try await scene.scan()
        // The other device has a newer `a` and an older `older`.
        let seen = try #require(try await scene.own("a")).version
        try await scene.announce([("a", "one, and more")], counter: 1, after: seen)
        try await scene.announce([("older", "0")], counter: 2)
        try scene.tree.write("newer", to: "older")
        try await scene.scan()
        for name in ["a", "d", "older"] { try scene.tree.remove(name) }
        let dry = try await scene.run(RepairStep(isDryRun: true))
        #expect(dry.output.files == 2 && dry.output.paths == ["a", "older"] && !dry.effects.endsHalt)
        #expect(dry.output.bytes == 14 && dry.output.lostFiles == 1 && dry.output.directories == 0)
        #expect(try await scene.own("a") != nil)
        let repaired = try await scene.run(RepairStep())
        #expect(repaired.output.files == 2 && repaired.output.lostFiles == 1)
        #expect(repaired.effects.endsHalt && repaired.effects.scansEverything)
        #expect(repaired.effects.changes.map(\.name) == ["d", "d/mine"])
        #expect(repaired.effects.changes.allSatisfy { $0.kind == .deleted })
        #expect(try await scene.own("a")?.isDeleted != true, "others would lose it")
        #expect(try await scene.index.local(StepScene.id, "a")?.status == nil)
        #expect(try await scene.own("b")?.isDeleted == false)
        let again = try await scene.run(RepairStep(isDryRun: true))
        #expect(!again.output.isChange && again.output.lostFiles == 0)
    }

    // MARK: folders of one direction

    @Test func aFolderThatOnlyReceivesGoesBackToWhatOthersHave() async throws {
        let scene = try await StepScene { $0.kind = .receiveOnly }
        try scene.tree.write("same", to: "a")
        try scene.tree.setPermissions(0o644, "a")
        try scene.tree.setModified(1_700_000_000, "a")
        try await scene.announce([("a", "same")], counter: 1)
        try await scene.scan()
        try scene.tree.write("changed here", to: "a")
        try scene.tree.write("made here", to: "b")
        try await scene.scan()
        let dry = try await scene.run(RevertStep(isDryRun: true))
        #expect(dry.output.outcome.files == 1 && dry.output.outcome.deletions == 1)
        #expect(scene.tree.text("b") == "made here" && dry.output.fetches.isEmpty)
        let round = try await scene.run(RevertStep())
        #expect(round.output.fetches.map(\.file.name) == ["a"])
        let rest = try await scene.run(RevertStep(attempted: ["a"]))
        #expect(rest.output.fetches.isEmpty && scene.tree.text("b") == nil)
        #expect(scene.tree.text("a") == "changed here", "until it is fetched")
        let other = try await StepScene()
        await #expect(throws: FolderError.self) { try await other.run(RevertStep()) }
    }

    @Test func whereNothingIsRefusedThereIsNothingToAccept() async throws {
        let scene = try await StepScene()
        try scene.tree.write("one", to: "a")
        try await scene.scan()
        await #expect(throws: FolderError.self) {
            try await scene.run(SettleRefusedStep(paths: ["a"], action: .accept))
        }
        await #expect(throws: FolderError.self, "not even in the whole folder") {
            try await scene.run(SettleRefusedStep(paths: [""], action: .revert))
        }
    }

    // MARK: conflicts that a command decides

    private static let copy = "a.sync-conflict-20261127-101112-ABCDEFG.txt"

    private func conflict() async throws -> StepScene {
        let scene = try await StepScene()
        try scene.tree.write("mine", to: "a.txt")
        try scene.tree.write("theirs", to: Self.copy)
        try await scene.scan()
        return scene
    }

    private func decide(_ decision: ConflictCommand.Decision, merged: String? = nil) async throws -> StepScene {
        let scene = try await conflict()
        let undecided = UndecidedConflict.content(try RelativePath(parsing: Self.copy))
        let description = try await scene.run(DescribeConflictStep(undecided: undecided)).output
        #expect(description.found.original.text == "a.txt" && description.statuses.count == 2)
        let directory = try TemporaryDirectory()
        if let merged { try merged.write(toFile: directory.path + "/merged", atomically: true, encoding: .utf8) }
        let decided = try await scene.run(
            DecideConflictStep(
                undecided: undecided, description: description, decision: decision, directory: directory.path))
        #expect(decided.effects.touchesConflicts)
        return scene
    }

    @Test(arguments: [ConflictCommand.Decision.mine, .theirs])
    func aCommandKeepsOneOfTwo(_ decision: ConflictCommand.Decision) async throws {
        let scene = try await decide(decision)
        let kept = try #require(scene.tree.text("a.txt"))
        #expect(["mine", "theirs"].contains(kept))
        #expect(scene.tree.text(Self.copy) == nil)
        let other = try await decide(decision == .mine ? .theirs : .mine)
        #expect(other.tree.text("a.txt") != kept, "the other decision keeps the other one")
        #expect(try await scene.own("a.txt")?.blocks.map(\.hash) == [SHA256.digest(Array(kept.utf8))])
    }

    @Test func whatACommandHasMergedTakesThePlaceOfBoth() async throws {
        let scene = try await decide(.merged, merged: "mine and theirs")
        #expect(scene.tree.text("a.txt") == "mine and theirs" && scene.tree.text(Self.copy) == nil)
        #expect(try await scene.own("a.txt")?.size == 15)
        #expect(try await scene.own(Self.copy)?.isDeleted == true)
    }

    @Test func aCommandThatMergedNothingLosesNothing() async throws {
        await #expect(throws: (any Error).self) { try await decide(.merged) }
    }

    @Test func whatChangesWhileACommandDecidesStays() async throws {
        let scene = try await conflict()
        let undecided = UndecidedConflict.content(try RelativePath(parsing: Self.copy))
        let description = try await scene.run(DescribeConflictStep(undecided: undecided)).output
        try scene.tree.write("edited meanwhile", to: "a.txt")
        let decided = try await scene.run(
            DecideConflictStep(
                undecided: undecided, description: description, decision: .theirs, directory: "/nowhere"))
        #expect(!decided.effects.touchesConflicts)
        #expect(scene.tree.text("a.txt") == "edited meanwhile" && scene.tree.text(Self.copy) == "theirs")
    }
}
