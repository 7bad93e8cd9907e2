import BlockExchange
import ControlAPI
import Cryptography
import Foundation
import IndexStore
import NIOCore
import Reconciliation
import Selection
import SyncTestKit
import Synchronization
import Testing

@testable import FolderSync
@testable import SessionTestKit

/// Freeing between devices that are connected, apart, or no synctrain: who asks whom, and what stays where.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PromiseTests {
    private static let folder = SessionAgent.folder

    /// Agents that keep a selection, with everything selected.
    private func selective(
        _ count: Int = 2, full: Set<Int> = [], minimumCopies: Int = 1,
        _ body: @escaping @Sendable (SessionScene) async throws -> Void
    ) async throws {
        try await SessionScene.run(count) { configuration, agent in
            configuration.mode = full.contains(agent) ? .full : .selective
            configuration.minimumCopies = minimumCopies
        } _: { scene in
            for number in 0..<count where !full.contains(number) {
                try scene[number].write(Array("!/a\n!/b\n*\n".utf8), to: ".stignore")
            }
            try await body(scene)
        }
    }

    private func free(_ agent: SessionAgent, _ names: [String] = ["a"]) async throws -> FreeingOutcome {
        let outcome = try await agent.folder.runner.deselect(DeselectStep(paths: names, local: .free))
        return try #require(outcome.freeing)
    }

    private func select(_ agent: SessionAgent, _ names: [String]) async throws {
        _ = try await agent.folder.runner.perform(SelectStep(paths: names))
    }

    private func notes(_ agent: SessionAgent, _ name: String = "a") async throws -> KeepNotes {
        KeepNotes(try await agent.index.keepRows(in: Self.folder, names: [name])[0])
    }

    /// Both have heard how much the other keeps, and what it promised.
    private func haveHeard(_ one: SessionAgent, _ other: SessionAgent) -> Bool {
        [(one, other), (other, one)].allSatisfy { agent, peer in
            let peers = agent.folder.boards.peers
            return peers.standings[peer.id]?.hasHeard == true && peers.stated.contains(peer.id)
        }
    }

    private func connect(_ scene: SessionScene, _ one: Int = 0, _ other: Int = 1) async throws -> MemoryWire {
        let wire = try await scene.connect(one, other)
        try await scene.until { haveHeard(scene[one], scene[other]) }
        return wire
    }

    @Test func whoFreesIsPromisedACopy() async throws {
        try await selective { scene in
            try scene[0].write([1, 2, 3], to: "a")
            let wire = try await connect(scene)
            try await scene.until { try await scene.haveBoth(["a": [1, 2, 3]]) }
            let freed = try await free(scene[0])
            #expect(freed.freed == ["a"], "\(freed)")
            #expect(scene[0].read("a") == nil)
            let held = try await notes(scene[0])
            #expect(held.held[scene.ids[1]]?.standing == .promised)
            #expect(Array(try await notes(scene[1]).given.keys) == [scene.ids[0]])

            let refused = try await free(scene[1])
            #expect(refused.freedFiles == 0)
            #expect(scene[1].read("a") == [1, 2, 3])
            // By hand it is excluded there now; selected again, it is announced again.
            try await select(scene[1], ["a"])
            try await scene.until {
                guard try await scene[1].version("a") != nil else { return false }
                return try await scene[0].version("a", of: scene.ids[1]) != nil
            }
            let bound = try await free(scene[1])
            let noted = try await notes(scene[1])
            #expect(bound.staying.map(\.reason) == ["promised"], "\(bound), \(noted)")
            try await select(scene[1], ["a"])
            try await scene.until { try await scene[1].version("a") != nil }

            // The first one has it again, and says so on the next link: now the other may free it.
            try await select(scene[0], ["a"])
            try await scene.until { try await scene.haveBoth(["a": [1, 2, 3]]) }
            wire.cut()
            try await scene.until { scene[0].session(scene.ids[1]) == nil && scene[1].session(scene.ids[0]) == nil }
            _ = try await connect(scene)
            try await scene.until { try await notes(scene[1]).given.isEmpty }
            try await scene.until { try await notes(scene[0]).held.isEmpty }
            #expect(try await free(scene[1]).freed == ["a"])
            #expect(scene[0].read("a") == [1, 2, 3])
        }
    }

    /// A promise is given for what is on the disk, whatever the index still says of it.
    @Test func whatHasChangedUnseenIsNotPromised() async throws {
        try await selective { scene in
            try scene[0].write([1, 2, 3], to: "a")
            _ = try await connect(scene)
            try await scene.until { try await scene.haveBoth(["a": [1, 2, 3]]) }
            try Data([9]).write(to: URL(filePath: scene[1].path("a")))
            let freed = try await free(scene[0])
            #expect(freed.freedFiles == 0, "\(freed)")
            #expect(scene[0].read("a") == [1, 2, 3])
            #expect(try await notes(scene[1]).given.isEmpty)
        }
    }

    @Test func ofTwoThatFreeAtOnceOneKeepsIt() async throws {
        try await selective { scene in
            try scene[0].write([7], to: "a")
            try scene[0].write([8], to: "b")
            _ = try await connect(scene)
            try await scene.until { try await scene.haveBoth(["a": [7], "b": [8]]) }
            async let first = free(scene[0], ["a", "b"])
            async let second = free(scene[1], ["a", "b"])
            let freed = try await (first.freedFiles, second.freedFiles)
            #expect(freed.0 + freed.1 >= 1)
            for name in ["a", "b"] { #expect(scene[0].read(name) != nil || scene[1].read(name) != nil) }
        }
    }

    /// A promise binds also while they are apart.
    @Test func aPromiseOutlivesTheLink() async throws {
        try await selective { scene in
            try scene[0].write([1], to: "a")
            try scene[0].write([2], to: "b")
            let wire = try await connect(scene)
            try await scene.until { try await scene.haveBoth(["a": [1], "b": [2]]) }
            let peers = scene[0].folder.boards.peers
            peers.beginGathering()
            try await CopyGathering(folder: try scene[0].folder.runner.reading()).gather(["a"])
            wire.cut()
            try await scene.until { scene[0].session(scene.ids[1]) == nil && scene[1].session(scene.ids[0]) == nil }
            let outcome = try await free(scene[0], ["a", "b"])
            peers.endGathering()
            #expect(outcome.freed == ["a"])
            #expect(outcome.staying.map(\.reason) == ["uncertain-copies"])
            #expect(try await free(scene[1], ["a", "b"]).freedFiles == 0)
            #expect(scene[1].read("a") == [1] && scene[1].read("b") == [2] && scene[0].read("b") == [2])

            // After a start what was noted is doubtful: it may come out of a backup.
            try await select(scene[0], ["a", "b"])
            try await scene.stop(0)
            try await scene.start(0) { $0.mode = .selective }
            #expect(try await notes(scene[0]).held.values.map(\.standing) == [.earlier])
        }
    }

    /// The word of a device that keeps everything counts while it is away, for so long.
    @Test(arguments: [false, true]) func aFullDeviceThatIsAwayIsACopy(isLongAgo: Bool) async throws {
        try await selective(full: [1]) { scene in
            try scene[0].write([1], to: "a")
            let wire = try await connect(scene)
            try await scene.until { try await scene.haveBoth(["a": [1]]) }
            wire.cut()
            try await scene.until { scene[0].session(scene.ids[1]) == nil && scene[1].session(scene.ids[0]) == nil }
            if isLongAgo { scene.clock.advance(by: .seconds(30 * 86_400 + 1)) }
            let outcome = try await free(scene[0])
            #expect(outcome.freed == (isLongAgo ? [] : ["a"]))
            #expect(outcome.staying.map(\.reason) == (isLongAgo ? ["uncertain-copies"] : []))
            // What keeps everything does not count on one that it cannot see.
            #expect(try await free(scene[1]).freedFiles == 0)
            #expect(scene[1].read("a") == [1])
        }
    }

    @Test func twoCopiesTakeTwoPromises() async throws {
        try await selective(3, minimumCopies: 2) { scene in
            try scene[0].write([1], to: "a")
            _ = try await connect(scene, 0, 1)
            try await scene.until { try await scene.haveBoth(["a": [1]]) }
            #expect(try await free(scene[0]).staying.map(\.reason) == ["too-few-copies"])
            try await select(scene[0], ["a"])
            _ = try await connect(scene, 0, 2)
            try await scene.until { try await scene[0].version("a", of: scene.ids[2]) != nil }
            try await scene.until { try await scene[0].version("a", of: scene.ids[1]) != nil }
            #expect(try await free(scene[0]).freed == ["a"])
            #expect(try await notes(scene[0]).held.values.map(\.standing) == [.promised, .promised])
        }
    }

    /// The first of two agents that have `a` and `b`, which it has selected while there is space.
    private func withTwoFilesWhileSpace(_ scene: SessionScene) async throws -> SessionAgent {
        let agent = scene[0]
        try agent.write([1], to: "a")
        try agent.write([2], to: "b")
        _ = try await connect(scene)
        try await scene.until { try await scene.haveBoth(["a": [1], "b": [2]]) }
        for name in ["a", "b"] {
            _ = try await agent.folder.runner.perform(SelectStep(paths: [name], whileSpace: true))
        }
        return agent
    }

    enum Meanwhile: CaseIterable, Sendable { case promised, edited }

    /// What is freed for want of space was named by nobody: where a file cannot go after all, it stays selected, with its mark.
    @Test(arguments: Meanwhile.allCases)
    func whatNobodyNamedStaysSelectedWhereItStays(meanwhile: Meanwhile) async throws {
        try await selective { scene in
            let agent = try await withTwoFilesWhileSpace(scene)
            let peers = agent.folder.boards.peers
            peers.beginGathering()
            try await CopyGathering(folder: try agent.folder.runner.reading()).gather(["a", "b"])
            // After the choice, and before the line is written.
            switch meanwhile {
            case .promised:
                let content = try #require(try await notes(agent, "b").held[scene.ids[1]]?.content)
                try await agent.index.changeKeepNotes(in: Self.folder, names: ["b"]) { _, _, notes in
                    notes.held = [:]
                    notes.given[scene.ids[1]] = content
                }
            case .edited: try Data([9]).write(to: URL(filePath: agent.path("b")))
            }
            let outcome = try await agent.folder.runner.perform(DeselectStep.freeing(chosen: ["a", "b"]))
            peers.endGathering()
            #expect(outcome.freeing?.freed == ["a"])
            #expect(outcome.freeing?.staying == [] && outcome.freeing?.stayingFiles == 0)
            #expect(outcome.removed == ["// synctrain: while-space /a", "!/a"])
            #expect(outcome.added == [])
            #expect(agent.read(".stignore") == Array("// synctrain: while-space /b\n!/b\n*\n".utf8))
            #expect(try await agent.folder.runner.reading().countExtraneous() == 0)
            let there: [UInt8] = meanwhile == .edited ? [9] : [2]
            try await scene.until { scene[1].read("b") == there }
            try await scene.until { try await agent.version("b") != nil }
            #expect(agent.read("b") == there && agent.read("a") == nil && scene[1].read("a") == [1])
        }
    }

    /// A program that keeps a file open for writing has it tried once in a while, not with each pull.
    @Test func whatCannotBeFreedIsLeftAloneForAWhile() async throws {
        try await selective { scene in
            let agent = try await withTwoFilesWhileSpace(scene)
            try await scene.until { try await agent.version("b") != nil }
            let version = try await agent.version("b")
            let writer = try FileHandle(forWritingTo: URL(filePath: agent.path("b")))
            defer { try? writer.close() }
            func keepFree() async throws -> Int {
                var status = stat()
                stat(agent.path(".stignore"), &status)
                let before = status.st_ino
                _ = try await agent.folder.runner.free(.unattended(until: .max / 4, among: PathSet(["a", "b"])))
                stat(agent.path(".stignore"), &status)
                return before == status.st_ino ? 0 : 1
            }
            try await scene.until {
                _ = try await keepFree()
                return agent.read("a") == nil
            }
            #expect(agent.read("b") == [2])
            #expect(agent.read(".stignore") == Array("// synctrain: while-space /b\n!/b\n*\n".utf8))
            try await scene.until { try await agent.version("b") != nil }
            #expect(try await agent.version("b") == version, "it is what it was")
            #expect(try await keepFree() == 0, "it was tried just now")
            // Who asks for it has it tried.
            try writer.close()
            try await scene.until {
                _ = try await agent.folder.runner.free(FreeStep(until: .max / 4, among: PathSet(["a", "b"])))
                return agent.read("b") == nil
            }
        }
    }

    // MARK: a Syncthing

    private final class Result: Sendable {
        private let state = Mutex<FreeingOutcome?>(nil)
        var outcome: FreeingOutcome? { state.withLock { $0 } }
        func set(_ outcome: FreeingOutcome) { state.withLock { $0 = outcome } }
    }

    enum Answer: CaseIterable, Sendable { case truth, otherBytes, tooFew, refusal }

    /// A Syncthing is asked for blocks, and never for anything that it does not know.
    @Test(arguments: Answer.allCases) func aSyncthingIsAskedForBlocks(answer: Answer) async throws {
        var random = SeededGenerator(seed: 6)
        let content = random.bytes(5 * BlockSize.minimum + 1000)
        try await SessionScene.run(1) { scene in
            let peer = try await scene.peer()
            peer.sayHello()
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            var blocks: [BlockInfo] = []
            for offset in stride(from: 0, to: content.count, by: BlockSize.minimum) {
                let block = Array(content[offset...].prefix(BlockSize.minimum))
                blocks.append(BlockInfo(offset: Int64(offset), size: Int32(block.count), hash: SHA256.digest(block)))
            }
            let file = FileInfo(
                name: "a", size: Int64(content.count), modifiedSeconds: 1_700_000_000,
                version: VersionVector([.init(id: ShortID(rawValue: 9), value: 1)]), sequence: 1,
                modifiedBy: ShortID(rawValue: 9), blockSize: Int32(BlockSize.minimum), blocks: blocks)
            peer.say(.clusterConfig(peer.config(has: 1)))
            peer.say(.index(folder: Self.folder, files: [file], isFullIndex: true, previousSequence: 0))
            var answered = 0
            func serve(_ answer: Answer) {
                for (id, request) in peer.requests[answered...] {
                    let truth = Array(content[Int(request.offset)...].prefix(Int(request.size)))
                    let data =
                        switch answer {
                        case .truth: truth
                        case .otherBytes: truth.map { ~$0 }
                        case .tooFew: Array(truth.dropLast())
                        case .refusal: [UInt8]()
                        }
                    peer.say(
                        .response(
                            BlockResponse(
                                id: id, data: ByteBuffer(bytes: data), code: answer == .refusal ? .noSuchFile : .ok)))
                    answered += 1
                }
            }
            try await scene.until {
                serve(.truth)
                return try await scene[0].version("a") != nil
            }
            let before = answered
            let result = Result()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [self] in result.set(try await free(scene[0])) }
                try await scene.until {
                    serve(answer)
                    return result.outcome != nil
                }
            }
            let freeing = try #require(result.outcome)
            #expect(freeing.freed == (answer == .truth ? ["a"] : []))
            #expect(freeing.staying.map(\.reason) == (answer == .truth ? [] : ["failed-copies"]))
            #expect((scene[0].read("a") == nil) == (answer == .truth))
            let asked = peer.requests[before...].map(\.request.offset)
            if answer == .truth {
                #expect(asked.count == BlockSample.count(ofBlocks: 6) && Set(asked).count == asked.count)
            }
            #expect(!peer.hasEnded)
            #expect(!peer.events.contains { if case .keepRequest = $0 { true } else { false } })
        }
    }

    /// A device that has just come may not be able to take what it is told; nothing would be freed until the next link.
    @Test func whatADeviceDoesNotTakeIsSaidAgain() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await scene.peer()
            peer.sayHello(client: "synctrain")
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            var config = peer.config(has: 0)
            config.folders[0].takesKeepRequests = true
            peer.say(.clusterConfig(config))
            for (attempt, isAccepted) in [false, false, true].enumerated() {
                try await scene.until {
                    // Longer with each refusal.
                    scene.clock.advance(within: .seconds(4))
                    return peer.keepRequests.count == attempt + 1
                }
                let (id, request) = peer.keepRequests[attempt]
                #expect(request.kind == .state)
                #expect(scene[0].folder.boards.peers.standings[peer.id]?.hasHeard != true)
                peer.say(.keepAnswer(id: id, KeepAnswer(isAccepted: isAccepted)))
            }
            try await scene.until { scene[0].folder.boards.peers.standings[peer.id]?.hasHeard == true }
            #expect(!peer.hasEnded)
        }
    }

    /// Requests about promises from a device that the folder is not shared with, or that come before anything was scanned, promise
    /// nothing and end nothing.
    @Test func strangeRequestsPromiseNothing() async throws {
        try await SessionScene.run(1) { scene in
            try scene[0].write([1], to: "a")
            let peer = try await scene.peer()
            peer.sayHello(client: "synctrain")
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            peer.say(.clusterConfig(peer.config(has: 0)))
            try await scene.until { scene[0].folder.boards.status.snapshot.hasScanned }
            let version = try #require(try await scene[0].version("a"))
            let hash = FileInfo.blocksHash(of: [BlockInfo(offset: 0, size: 1, hash: SHA256.digest([1]))])
            let right = KeepContent(version: version, kind: .file, size: 1, digest: hash)
            var wrong = right
            wrong.size = 2
            let names = ["a", "a", "../a", "", ".stfolder", "none", "a/b"]
            let entries = zip(names, [right, wrong, right, right, right, right, right]).compactMap { name, content in
                name.isEmpty ? nil : KeepRequest.Entry(name: name, content: content)
            }
            peer.keep(KeepRequest(folder: Self.folder, kind: .ask, entries: entries))
            peer.keep(KeepRequest(folder: FolderID("other"), kind: .ask, entries: entries))
            try await scene.until { peer.keepAnswers.count == 2 }
            #expect(peer.keepAnswers.map(\.granted) == [[0], []])
            #expect(peer.keepAnswers.map(\.isAccepted) == [true, false])
            #expect(try await notes(scene[0]).given[peer.id] == right)
            #expect(!peer.hasEnded)
            // More than is ever under way ends the link.
            for _ in 0..<200 { peer.keep(KeepRequest(folder: Self.folder, kind: .ask, entries: entries)) }
            try await scene.until { peer.hasEnded || peer.keepAnswers.count == 202 }
        }
    }
}
