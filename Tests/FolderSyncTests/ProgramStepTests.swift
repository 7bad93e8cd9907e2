import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import Reconciliation
import SyncTestKit
import Testing

@testable import FolderSync

/// What programs do with names through a mount, each step by itself on a real directory. Names that they claim:
/// `ClaimedNamesTests`.
@Suite struct ProgramStepTests {
    private func path(_ name: String) throws -> RelativePath { try RelativePath(parsing: name) }

    private func claim(_ name: String, isMeant: Bool = true) throws -> ClaimNameStep {
        ClaimNameStep(path: try path(name), making: .file(permissions: 0o644), isMeant: { _ in isMeant })
    }

    private func rename(
        _ from: String, _ to: String, keepsOther: Bool = false, isMeant: Bool = true
    ) throws -> RenameNameStep {
        RenameNameStep(from: try path(from), to: try path(to), keepsOther: keepsOther, isMeant: { _ in isMeant })
    }

    /// Runs a step that is to be refused.
    private func refusal<Step: FolderStep>(of step: Step, _ scene: StepScene) async throws -> ProgramRefusal? {
        do {
            _ = try await scene.run(step)
            return nil
        } catch let refusal as ProgramRefusal {
            return refusal
        }
    }

    // MARK: removing

    @Test func whatAProgramRemovesIsDeletedForAll() async throws {
        let scene = try await StepScene()
        try scene.tree.write("one", to: "d/a")
        try await scene.scan()
        await #expect(throws: FileAccessError.self, "something is in it") {
            try await scene.run(RemoveNameStep(path: try path("d")))
        }
        #expect(scene.tree.text("d/a") == "one")
        _ = try await scene.run(RemoveNameStep(path: try path("d/a")))
        #expect(scene.tree.names("d") == [])
        #expect(try await scene.own("d/a")?.isDeleted == true)
        _ = try await scene.run(RemoveNameStep(path: try path("d")))
        #expect(scene.tree.names() == [".stfolder"])
        #expect(try await scene.own("d")?.isDeleted == true)
    }

    @Test func aDirectoryThatHoldsOnlyWhatIsBeingPutTogetherIsEmpty() async throws {
        let scene = try await StepScene()
        try scene.tree.makeDirectory("d")
        try await scene.scan()
        try scene.tree.write("half", to: "d/" + RelativePath.temporaryName(for: "film"))
        _ = try await scene.run(RemoveNameStep(path: try path("d")))
        #expect(scene.tree.names() == [".stfolder"])
    }

    @Test func whatIsElsewhereIsDeletedThere() async throws {
        let scene = try await StepScene(ignoring: "*\n", mode: .selective)
        try await scene.announce([("a", "0123"), ("b", "4567")], counter: 1)
        _ = try await scene.run(RemoveNameStep(path: try path("a")))
        let own = try #require(try await scene.own("a"))
        #expect(own.isDeleted)
        #expect(own.version.compare(VersionVector([.init(id: StepScene.nas.shortID, value: 1)])) == .greater)
        #expect(try await scene.own("b")?.isDeleted != true)
        #expect(try await refusal(of: RemoveNameStep(path: try path("a")), scene) == .notFound)
        #expect(try await refusal(of: RemoveNameStep(path: try path("nowhere")), scene) == .notFound)
    }

    /// A walk of the folder for each name would make a run of removals as slow as the folder is large.
    @Test func whatIsNeededIsCountedOnceForAllThatAProgramRemoves() async throws {
        let scene = try await StepScene(ignoring: "!/kept\n*\n", mode: .selective)
        try await scene.announce([("kept/a", "0123"), ("kept/b", "4567"), ("c", "89")], counter: 1)
        let selected = try await scene.run(RemoveNameStep(path: try path("kept/a"))).effects
        #expect(selected.counts.need == nil && selected.counts.extraneous == nil)
        #expect(selected.touchesNeed && !selected.touchesExtraneous)
        let unselected = try await scene.run(RemoveNameStep(path: try path("c"))).effects
        #expect(!unselected.touchesNeed && !unselected.touchesExtraneous)
        let counted = try await scene.run(CountNeedStep()).effects
        #expect(counted.counts.need?.items.files == 1)
    }

    @Test func mostOfWhatIsElsewhereIsNotDeleted() async throws {
        let scene = try await StepScene(ignoring: "*\n", mode: .selective)
        let names = (0..<240).map { "f\($0)" }
        try await scene.announce(names.map { ($0, "0123") }, counter: 1)
        var deleted = 0
        var refused: ProgramRefusal?
        for name in names where refused == nil {
            refused = try await refusal(of: RemoveNameStep(path: try path(name)), scene)
            if refused == nil { deleted += 1 }
        }
        guard case .massDeletion(let lost, let all) = refused else {
            Issue.record("all of them were deleted")
            return
        }
        #expect(lost == deleted + 1 && all <= names.count)
        #expect(try await scene.own(names[deleted])?.isDeleted != true)
        #expect(try await scene.own(names[0])?.isDeleted == true)
    }

    @Test func mostOfWhatIsHereIsNotDeletedAndWhatIsRefusedStays() async throws {
        let scene = try await StepScene()
        let names = (0..<240).map { "f\($0)" }
        for name in names { try scene.tree.write("mine", to: name) }
        try await scene.scan()
        for name in names.prefix(120) { _ = try await scene.run(RemoveNameStep(path: try path(name))) }
        for name in names.dropFirst(120) {
            let refused = try await refusal(of: RemoveNameStep(path: try path(name)), scene)
            #expect(refused == .massDeletion(lost: 121, of: 240))
            #expect(scene.tree.text(name) == "mine")
            #expect(try await scene.own(name)?.isDeleted == false)
        }
        #expect(try await scene.own(names[119])?.isDeleted == true)
        try await scene.scan()
    }

    @Test func aFewNamesMayAllBeRemoved() async throws {
        let scene = try await StepScene()
        let names = ["a", "b", "c", "d"]
        for name in names { try scene.tree.write("mine", to: name) }
        try await scene.scan()
        for name in names { _ = try await scene.run(RemoveNameStep(path: try path(name))) }
        #expect(scene.tree.names() == [".stfolder"])
        #expect(try await scene.own("d")?.isDeleted == true)
    }

    @Test func theLineOfANameGoesWithIt() async throws {
        let scene = try await StepScene(ignoring: "!/kept\n*\n", mode: .selective)
        _ = try await scene.run(try claim("new"))
        #expect(scene.tree.text(".stignore")?.contains("!/new\n") == true)
        _ = try await scene.run(RemoveNameStep(path: try path("new")))
        #expect(scene.tree.text(".stignore") == "!/kept\n*\n")
        #expect(scene.tree.text("new") == nil)
    }

    // MARK: renaming

    @Test func whatGetsAnotherNameKeepsItsContent() async throws {
        let scene = try await StepScene()
        try scene.tree.write("one", to: "a")
        try scene.tree.write("two", to: "d/b")
        try await scene.scan()
        #expect(try await refusal(of: try rename("a", "d/b", keepsOther: true), scene) == .exists)
        #expect(scene.tree.text("a") == "one" && scene.tree.text("d/b") == "two")
        let before = try #require(try await scene.own("d/b")?.version)
        _ = try await scene.run(try rename("a", "d/b"))
        #expect(scene.tree.text("a") == nil && scene.tree.text("d/b") == "one")
        #expect(try await scene.own("a")?.isDeleted == true)
        let own = try #require(try await scene.own("d/b"))
        #expect(own.blocks.map(\.hash) == [SHA256.digest(Array("one".utf8))])
        #expect(own.version.compare(before) == .greater)
    }

    /// As `sed -i` and other programs save files: one name takes the place of another each time.
    @Test func replacingByRenamesIsNoMassDeletion() async throws {
        let scene = try await StepScene()
        let names = (0..<110).map { "f\($0)" }
        for name in names { try scene.tree.write("old", to: name) }
        try await scene.scan()
        for name in names {
            try scene.tree.write("new", to: "saving")
            try await scene.scan()
            _ = try await scene.run(try rename("saving", name))
        }
        #expect(names.allSatisfy { scene.tree.text($0) == "new" })
        #expect(scene.tree.text("saving") == nil)
        _ = try await scene.run(RemoveNameStep(path: try path("f0")))
        #expect(scene.tree.text("f0") == nil)
    }

    /// As editors save: a new file takes the name of one that is not here.
    @Test(arguments: [true, false])
    func whatIsSavedOverAFileElsewhereSucceedsWhatTheProgramKnew(_ isMeant: Bool) async throws {
        let scene = try await StepScene(ignoring: "*\n", mode: .selective)
        try await scene.announce([("b", "theirs")], counter: 1)
        _ = try await scene.run(try claim("b.part"))
        try scene.tree.write("mine", to: "b.part")
        _ = try await scene.run(try rename("b.part", "b", isMeant: isMeant))
        #expect(scene.tree.text("b") == "mine" && scene.tree.text("b.part") == nil)
        let lines = try #require(scene.tree.text(".stignore"))
        #expect(lines.contains("!/b\n") && !lines.contains("b.part"))
        let theirs = VersionVector([.init(id: StepScene.nas.shortID, value: 1)])
        let own = try #require(try await scene.own("b"))
        #expect(own.size == 4)
        let follows = own.version.compare(theirs) == .greater
        #expect(follows == isMeant, "a version that the program has not seen is in conflict")
    }

    @Test func whatIsNotHereGetsNoOtherName() async throws {
        let scene = try await StepScene(ignoring: "!/here\n*\n", mode: .selective)
        try scene.tree.write("one", to: "here/a")
        try await scene.scan()
        try await scene.announce([("away", "0123"), ("here/b", "0123")], counter: 1)
        #expect(try await refusal(of: try rename("away", "other"), scene) == .absent)
        #expect(try await refusal(of: try rename("here", "other"), scene) == .absent, "here/b is elsewhere")
        #expect(scene.tree.text("here/a") == "one" && scene.tree.text("other") == nil)
    }

    @Test func filesAndDirectoriesDoNotTakeEachOthersPlace() async throws {
        let scene = try await StepScene()
        try scene.tree.write("one", to: "file")
        try scene.tree.write("two", to: "full/a")
        try scene.tree.makeDirectory("empty")
        try await scene.scan()
        #expect(try await refusal(of: try rename("file", "empty"), scene) == .isADirectory)
        #expect(try await refusal(of: try rename("full", "file"), scene) == .notADirectory)
        await #expect(throws: FileAccessError.self) { try await scene.run(try rename("empty", "full")) }
        await #expect(throws: FileAccessError.self) { try await scene.run(try rename("full", "full/below")) }
        #expect(scene.tree.text("file") == "one" && scene.tree.text("full/a") == "two")
        _ = try await scene.run(try rename("full", "empty"))
        #expect(scene.tree.text("empty/a") == "two" && scene.tree.names() == [".stfolder", "file", "empty"])
        #expect(try await scene.own("empty/a")?.isDeleted == false)
        #expect(try await scene.own("full/a")?.isDeleted == true)
    }

    @Test func aDirectoryOfWhichSomethingIsElsewhereIsNotReplaced() async throws {
        let scene = try await StepScene(ignoring: "!/mine\n*\n", mode: .selective)
        try scene.tree.write("one", to: "mine/a")
        try await scene.scan()
        try await scene.announce([("theirs/b", "0123")], counter: 1)
        try scene.tree.makeDirectory("theirs")
        #expect(try await refusal(of: try rename("mine", "theirs"), scene) == .notEmpty)
        #expect(scene.tree.text("mine/a") == "one")
    }
}
