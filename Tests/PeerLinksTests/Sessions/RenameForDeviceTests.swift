import AgentConfiguration
import BlockExchange
import Foundation
import IndexStore
import NIOCore
import Synchronization
import Testing

@testable import Fetching
@testable import FileAccess
@testable import FolderSync
@testable import SessionTestKit
@testable import SyncDecisions

/// One device renames for another what that one has not on its disk.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RenameForDeviceTests {
    private static let folder = SessionAgent.folder
    private static let files: [String: [UInt8]] = [
        "films/one": Array(repeating: 1, count: 200_000), "films/deep/two": [2, 2], "films/deep/three": [3],
        "films/empty": [], "other": [9],
    ]

    /// What came of a task.
    private final class Answered: Sendable {
        private let state = Mutex<RenameAnswer.Outcome?>(nil)

        var outcome: RenameAnswer.Outcome? { state.withLock { $0 } }
        func set(_ outcome: RenameAnswer.Outcome) { state.withLock { $0 = outcome } }
    }

    /// The first agent keeps nothing; the second has everything.
    private func run(
        asker selection: String = "*\n",
        _ change: @escaping @Sendable (inout FolderConfiguration, Int) -> Void = { _, _ in },
        _ body: @escaping @Sendable (SessionScene) async throws -> Void
    ) async throws {
        try await SessionScene.run(2) { configuration, agent in
            configuration.mode = agent == 0 ? .selective : .full
            change(&configuration, agent)
        } _: { scene in
            try scene[0].write(Array(selection.utf8), to: ".stignore")
            for (name, bytes) in Self.files { try scene[1].write(bytes, to: name) }
            try await scene.connect()
            try await scene.until {
                guard scene[1].folder.boards.status.snapshot.hasScanned,
                    try await scene[0].version("other", of: scene.ids[1]) != nil
                else { return false }
                return try await scene[0].isCurrent(of: scene[1]) && scene[0].session(scene.ids[1])?.peerConfig != nil
            }
            try await body(scene)
        }
    }

    private func tree(_ scene: SessionScene, _ name: String) async throws -> RenameTree? {
        try await RenameTree(at: RelativePath(parsing: name), in: scene[0].folder.runner.reading())
    }

    private func request(_ scene: SessionScene, _ from: String, _ to: String) async throws -> RenameRequest {
        let tree = try #require(try await tree(scene, from))
        return RenameRequest(
            folder: Self.folder, from: from, to: to, nameCount: tree.nameCount, digest: tree.digest)
    }

    private func ask(_ scene: SessionScene, _ request: RenameRequest) async throws -> RenameAnswer.Outcome {
        let source = try #require(scene[0].fetching.sessions([scene.ids[1]])[scene.ids[1]])
        #expect(source.takesRenames(in: Self.folder))
        let answered = Answered()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { answered.set(try await source.rename(request).outcome) }
            try await scene.until { answered.outcome != nil }
        }
        return try #require(answered.outcome)
    }

    private func ask(_ scene: SessionScene, _ from: String, _ to: String) async throws -> RenameAnswer.Outcome {
        try await ask(scene, try await request(scene, from, to))
    }

    private func inode(_ agent: SessionAgent, _ name: String) throws -> UInt64 {
        let attributes = try FileManager.default.attributesOfItem(atPath: agent.path(name))
        return try #require(attributes[.systemFileNumber] as? UInt64)
    }

    @Test func aDirectoryIsRenamedWhereItIs() async throws {
        try await run { scene in
            let tree = try #require(try await tree(scene, "films"))
            #expect(tree.nameCount == 6 && tree.isUnchanged && !tree.isWhole && tree.holders == [scene.ids[1]])
            let before = try ["films/one", "films/deep/two", "films"].map { try inode(scene[1], $0) }
            let outcome = try await ask(scene, "films", "Films 2026")
            #expect(outcome == .done)
            for (name, bytes) in Self.files where name != "other" {
                #expect(scene[1].read("Films 2026" + name.dropFirst(5)) == bytes)
            }
            #expect(scene[1].read("films/one") == nil)
            let after = try ["Films 2026/one", "Films 2026/deep/two", "Films 2026"].map { try inode(scene[1], $0) }
            #expect(after == before)
            // The one that asked learns it by the index alone.
            try await scene.until {
                guard try await scene[0].index.global(Self.folder, "films")?.isPresent == false else { return false }
                return try await scene[0].version("Films 2026/deep/three", of: scene.ids[1]) != nil
            }
            #expect(scene[0].read("Films 2026/one") == nil && scene[0].names.contains(".stignore"))
            let served = scene[1].transfers.list { _ in nil }.transfers.filter { $0.direction == .outgoing }
            #expect(served.isEmpty)
            // A scan finds nothing: the index says what is on the disk, without having read it.
            let summary = try await scene[1].folder.runner.perform(ScanStep(isRequested: true))
            #expect(summary.changed == 0 && summary.deleted == 0 && summary.bytesHashed == 0)
            #expect(scene[1].folder.boards.status.snapshot.halt == nil)
        }
    }

    /// What is on the disk of the one that asked gets the new name there, too, without being downloaded again.
    @Test func whatIsHereIsRenamedAsWell() async throws {
        try await run(asker: "!/films/one\n*\n") { scene in
            try await scene.until { scene[0].read("films/one") == Self.files["films/one"] }
            try await scene.until { try await scene[0].version("films/one") != nil }
            try await scene.until { try await scene[1].isCurrent(of: scene[0]) }
            let before = try inode(scene[0], "films/one")
            let outcome = try await ask(scene, "films", "moved")
            #expect(outcome == .done)
            try await scene.until {
                scene[0].read("moved/one") == Self.files["films/one"] && scene[0].read("films/one") == nil
            }
            #expect(try inode(scene[0], "moved/one") == before)
            #expect(scene[0].read("moved/deep/two") == nil)
        }
    }

    /// A file that was changed or added here is no part of what others have.
    @Test func whatOnlyTheAskerHasIsSeen() async throws {
        try await run(asker: "!/films/one\n*\n") { scene in
            try await scene.until { scene[0].read("films/one") == Self.files["films/one"] }
            try await scene.until { try await scene[0].version("films/one") != nil }
            #expect(try await tree(scene, "films")?.isUnchanged == true)
            try Data([7]).write(to: URL(fileURLWithPath: scene[0].path("films/new")))
            #expect(try await tree(scene, "films")?.isUnchanged == false)
            try FileManager.default.removeItem(atPath: scene[0].path("films/new"))
            #expect(try await tree(scene, "films")?.isUnchanged == true)
            try Data([7]).write(to: URL(fileURLWithPath: scene[0].path("films/one")))
            #expect(try await tree(scene, "films")?.isUnchanged == false)
            try FileManager.default.removeItem(atPath: scene[0].path("films/one"))
            #expect(try await tree(scene, "films")?.isUnchanged == false, "removed, and no scan has seen it")
        }
    }

    enum Obstacle: CaseIterable, Sendable {
        case extraFile, changedFile, missingFile, takenName, missingParent, internalName, temporaryName, escape
        case belowItself, otherDigest, openFile, unknownName, otherForm

        var outcome: RenameAnswer.Outcome {
            switch self {
            case .extraFile, .changedFile, .missingFile: .incomplete
            case .takenName, .missingParent: .taken
            case .internalName, .temporaryName, .escape, .belowItself, .otherForm: .badName
            case .otherDigest, .unknownName: .changed
            case .openFile: .busy
            }
        }
    }

    @Test(arguments: Obstacle.allCases) func nothingIsRenamedThen(_ obstacle: Obstacle) async throws {
        try await run { scene in
            var request = try await request(scene, "films", "moved")
            let holder = scene[1]
            func put(_ bytes: [UInt8], _ name: String) throws {
                try Data(bytes).write(to: URL(fileURLWithPath: holder.path(name)))
            }
            switch obstacle {
            case .extraFile: try put([1], "films/deep/extra")
            case .changedFile: try put([2, 2, 2], "films/deep/two")
            case .missingFile: try FileManager.default.removeItem(atPath: holder.path("films/deep/two"))
            case .takenName: try put([1], "moved")
            case .missingParent: request.to = "nowhere/moved"
            case .internalName: request.to = ".stfolder/moved"
            case .temporaryName: request.to = ".syncthing.moved.tmp"
            case .escape: request.to = "../moved"
            case .belowItself: request.to = "films/deep/moved"
            case .otherDigest: request.nameCount += 1
            case .openFile: #expect(holder.folder.boards.writing.open("films/deep/two") != nil)
            case .unknownName: request.from = "nothing"
            case .otherForm: request.to = "u\u{308}"
            }
            let before = Set(try FileManager.default.subpathsOfDirectory(atPath: holder.path("")))
            let outcome = try await ask(scene, request)
            #expect(outcome == obstacle.outcome)
            #expect(Set(try FileManager.default.subpathsOfDirectory(atPath: holder.path(""))) == before)
            // Nothing is held on to.
            #expect(holder.folder.boards.writing.open("films/one") != nil)
        }
    }

    @Test func whoMayOnlyReadIsRefused() async throws {
        try await run { configuration, agent in
            if agent == 1 { configuration.readers = [configuration.devices[0]] }
        } _: { scene in
            let outcome = try await ask(scene, "films", "moved")
            #expect(outcome == .notAllowed)
            #expect(scene[1].read("films/one") != nil)
        }
    }

    @Test(arguments: [true, false]) func foldersThatTakeNoChangesRefuse(receives: Bool) async throws {
        try await run { configuration, agent in
            if agent == 1, !receives { configuration.kind = .sendOnly }
        } _: { scene in
            if receives { await scene[1].configure { $0.kind = .receiveOnly } }
            let outcome = try await ask(scene, "films", "moved")
            #expect(outcome == .notAllowed)
            #expect(scene[1].read("films/one") != nil)
        }
    }

    /// A Syncthing ends a link on a message that it does not know.
    @Test func aSyncthingIsNeverAsked() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await scene.peer()
            peer.sayHello()
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            peer.say(.clusterConfig(peer.config(has: 0)))
            try await scene.until { scene[0].session(peer.id)?.peerConfig != nil }
            let source = try #require(scene[0].fetching.sessions([peer.id])[peer.id])
            #expect(!source.takesRenames(in: Self.folder))
            let request = RenameRequest(folder: Self.folder, from: "a", to: "b", nameCount: 1, digest: nil)
            await #expect(throws: RequestError.refused(.generic)) { try await source.rename(request) }
            #expect(peer.renameRequests.isEmpty && !peer.hasEnded)
        }
    }

    /// More than eight that wait end the link; one of another folder is refused.
    @Test func thereAreLimits() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await scene.peer()
            peer.sayHello(client: "synctrain")
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            peer.say(.clusterConfig(peer.config(has: 0)))
            try await scene.until { scene[0].session(peer.id)?.peerConfig != nil }
            peer.rename(RenameRequest(folder: FolderID("none"), from: "a", to: "b", nameCount: 1, digest: nil))
            try await scene.until { peer.renameAnswers.count == 1 }
            #expect(peer.renameAnswers == [RenameAnswer(.notAllowed)])
            let request = RenameRequest(folder: Self.folder, from: "a", to: "b", nameCount: 1, digest: nil)
            for _ in 0..<200 { peer.rename(request) }
            try await scene.until { peer.hasEnded || peer.renameAnswers.count == 201 }
            #expect(peer.hasEnded && peer.closeReason?.contains("requests to rename") == true)
        }
    }

    /// The process died after it had renamed the directory and before the index said so: the next scan announces it as a rename.
    @Test func whatWasCutOffIsFoundByTheNextScan() async throws {
        try await run { scene in
            let holder = scene[1]
            try FileManager.default.moveItem(atPath: holder.path("films"), toPath: holder.path("moved"))
            // What has happened to the index by then is some of it.
            _ = try await holder.index.applyLocal(
                in: Self.folder, [.forget("films/one")], isIgnored: { _ in false })
            _ = try await holder.folder.runner.perform(ScanStep(isRequested: true))
            for name in Self.files.keys where name != "other" {
                #expect(try await holder.version("moved" + name.dropFirst(5)) != nil)
            }
            try await scene.until {
                guard try await scene[0].version("moved/deep/three", of: scene.ids[1]) != nil else { return false }
                return try await scene[0].index.global(Self.folder, "films/deep/two")?.isPresent == false
            }
            #expect(holder.folder.boards.status.snapshot.halt == nil)
        }
    }
}
