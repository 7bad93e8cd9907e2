import BlockExchange
import FileAccess
import Foundation
import Reconciliation
import SyncTestKit
import Testing

@testable import FolderSync

/// A program has a file of the folder open for writing, through no mount, while another device replaces or deletes it.
@Suite struct OpenInProgramTests {
    private static let plan = PlanPullStep(names: nil, cursor: nil, attempted: [], deletions: [], countsNeed: false)

    /// A folder in step with another device, with one file "a" that says "old".
    private static func scene() async throws -> (StepScene, FileHandle) {
        let scene = try await StepScene()
        try scene.tree.write("old", to: "a")
        try await scene.scan()
        let program = try #require(FileHandle(forWritingAtPath: scene.tree.path("a")))
        try program.seekToEnd()
        return (scene, program)
    }

    private static func undone(_ effects: FolderEffects) -> [String: String] {
        Dictionary(
            effects.problems.entries.compactMap { entry in
                if case .undone(let message, let path) = entry { (path, message.english) } else { nil }
            }, uniquingKeysWith: { first, _ in first })
    }

    @Test func isNotDeletedBeforeItIsClosed() async throws {
        let (scene, program) = try await Self.scene()
        let version = try #require(try await scene.own("a")?.version)
        try await scene.announce([("a", nil)], counter: 1, after: version)
        let early = try await scene.run(Self.plan)
        #expect(!early.output.isComplete, "it is tried again")
        #expect(Self.undone(early.effects)["a"]?.contains("a program has it open for writing") == true)
        try program.write(contentsOf: Data(" and new".utf8))
        #expect(scene.tree.text("a") == "old and new")
        try program.close()
        // What was written wins over the deletion, which has not seen it.
        try await scene.scan()
        _ = try await scene.run(Self.plan)
        #expect(scene.tree.text("a") == "old and new")
    }

    @Test func isDeletedOnceItIsClosedAsItWas() async throws {
        let (scene, program) = try await Self.scene()
        let version = try #require(try await scene.own("a")?.version)
        try await scene.announce([("a", nil)], counter: 1, after: version)
        _ = try await scene.run(Self.plan)
        try program.close()
        let late = try await scene.run(Self.plan)
        #expect(late.output.isComplete && Self.undone(late.effects).isEmpty)
        #expect(scene.tree.text("a") == nil)
    }

    @Test func whatIsOnlyReadIsDeleted() async throws {
        let (scene, program) = try await Self.scene()
        try program.close()
        let reader = try #require(FileHandle(forReadingAtPath: scene.tree.path("a")))
        let version = try #require(try await scene.own("a")?.version)
        try await scene.announce([("a", nil)], counter: 1, after: version)
        _ = try await scene.run(Self.plan)
        #expect(scene.tree.text("a") == nil)
        try reader.close()
    }

    /// Puts "new" in the place of a file.
    private struct PlaceStep: FolderStep {
        let name: String

        func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> PlacementOutcome? {
            let (root, path) = (folder.root, try RelativePath(parsing: name))
            let seen = try #require(try root.status(of: path))
            let file = try root.stage(path)
            try file.write(Array("new".utf8), at: 0)
            let placement = StagedPlacement(
                position: 0, content: .local, path: path, root: root, replacement: .exactly(seen),
                commit: StagedCommit(file, replacing: .exactly(seen), permissions: nil, modified: nil),
                fate: .discarded)
            return try await FilePlacer(units: [[placement]]).run(folder, &work).first?.1
        }
    }

    @Test func isNotReplacedBeforeItIsClosed() async throws {
        let (scene, program) = try await Self.scene()
        let early = try await scene.run(PlaceStep(name: "a")).output
        guard case .failed(let error as FileAccessError) = early else {
            Issue.record("\(String(describing: early))")
            return
        }
        #expect(error.code == .busy && error.path == "a")
        try program.write(contentsOf: Data(" and new".utf8))
        #expect(scene.tree.text("a") == "old and new")
        try program.close()
        guard case .done = try await scene.run(PlaceStep(name: "a")).output else {
            Issue.record("not placed")
            return
        }
        #expect(scene.tree.text("a") == "new")
    }
}
