import BlockExchange
import Cryptography
import NIOCore
import SyncTestKit
import Synchronization
import Testing

@testable import Fetching
@testable import SessionTestKit
@testable import SyncDecisions

/// Devices that download the same file tell each other which blocks they have, and ask each other for them.
@Suite(.serialized, .timeLimit(.minutes(2))) struct DownloadProgressTests {
    private static let blockCount = 48
    private static let content: [UInt8] = {
        var random = SeededGenerator(seed: 17)
        return random.bytes(BlockSize.minimum * blockCount)
    }()
    private static let film: FileInfo = {
        let blocks = (0..<blockCount).map { number in
            BlockInfo(
                offset: Int64(number * BlockSize.minimum), size: Int32(BlockSize.minimum),
                hash: SHA256.digest(Array(bytes(of: number))))
        }
        return FileInfo(
            name: "film", size: Int64(content.count), modifiedSeconds: 1_700_000_000,
            version: VersionVector([.init(id: ShortID(rawValue: 9), value: 1)]), sequence: 1,
            modifiedBy: ShortID(rawValue: 9), blockSize: Int32(BlockSize.minimum), blocks: blocks)
    }()

    private static func bytes(of block: Int) -> ArraySlice<UInt8> {
        content[(block * BlockSize.minimum)...].prefix(BlockSize.minimum)
    }

    private static func request(_ block: Int, isFromTemporary: Bool) -> BlockRequest {
        BlockRequest(
            folder: SessionAgent.folder, name: film.name, offset: film.blocks[block].offset,
            size: film.blocks[block].size,
            hash: film.blocks[block].hash, isFromTemporary: isFromTemporary, blockIndex: Int32(block))
    }

    /// A peer that has been told what is shared with it, and shares the folder.
    private static func peer(
        _ scene: SessionScene, of agent: Int = 0, as number: Int, has: Int64 = 0,
        _ change: (inout ClusterConfig) -> Void = { _ in }
    ) async throws -> ScriptedPeer {
        let peer = try await scene.peer(of: agent, as: number)
        peer.sayHello()
        try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
        var config = peer.config(has: has)
        change(&config)
        peer.say(.clusterConfig(config))
        return peer
    }

    /// A peer that has the film.
    private static func holder(_ scene: SessionScene, of agent: Int = 0, as number: Int) async throws -> ScriptedPeer {
        let peer = try await peer(scene, of: agent, as: number, has: 1)
        peer.say(.index(folder: SessionAgent.folder, files: [film], isFullIndex: true, previousSequence: 0))
        return peer
    }

    private static func answer(_ peer: ScriptedPeer, _ id: Int32, _ bytes: some Sequence<UInt8>) {
        peer.say(.response(BlockResponse(id: id, data: ByteBuffer(bytes: Array(bytes)), code: .ok)))
    }

    /// Answers what the peer is asked for from `answered` on, truthfully.
    private static func answerAll(_ peer: ScriptedPeer, _ answered: inout Int) {
        for (id, request) in peer.requests[answered...] {
            answer(peer, id, bytes(of: Int(request.blockIndex)))
            answered += 1
        }
    }

    private static func blocksHere(_ agent: SessionAgent) -> BlockSet? {
        agent.fetching.downloads?.board.files(of: SessionAgent.folder).first?.blocks
    }

    private static func progress(_ peer: ScriptedPeer) -> [DownloadProgress] {
        peer.events.compactMap { if case .downloadProgress(let progress) = $0 { progress } else { nil } }
    }

    private static func responses(_ peer: ScriptedPeer) -> [BlockResponse] {
        peer.events.compactMap { if case .response(let response) = $0 { response } else { nil } }
    }

    // MARK: what is told

    @Test func othersAreToldWhatIsHereAndGetIt() async throws {
        try await SessionScene.run(1) { scene in
            let other = try await Self.peer(scene, as: 2)
            let holder = try await Self.holder(scene, as: 1)
            try await scene.until { holder.requests.count >= 3 }
            var come: [Int] = []
            for (id, request) in holder.requests.prefix(3) {
                come.append(Int(request.blockIndex))
                Self.answer(holder, id, Self.bytes(of: Int(request.blockIndex)))
            }
            try await scene.until { Self.blocksHere(scene[0]) == BlockSet(come) }
            scene.clock.advance(by: ProgressReport.interval)
            try await scene.until { !Self.progress(other).isEmpty }
            #expect(
                Self.progress(other) == [
                    DownloadProgress(
                        folder: SessionAgent.folder,
                        updates: [
                            .init(
                                kind: .append, name: "film", version: Self.film.version,
                                blockIndexes: come.sorted().map { Int32($0) }, blockSize: Int32(BlockSize.minimum))
                        ])
                ])

            let missing = try #require((0..<Self.blockCount).first { !come.contains($0) })
            other.ask(Self.request(come[0], isFromTemporary: true))
            other.ask(Self.request(come[0], isFromTemporary: false))
            other.ask(Self.request(missing, isFromTemporary: true))
            var wrong = Self.request(come[1], isFromTemporary: true)
            wrong.hash = SHA256.digest([1])
            other.ask(wrong)
            wrong.hash = nil
            other.ask(wrong)
            try await scene.until { Self.responses(other).count == 5 }
            let codes = Self.responses(other).sorted { $0.id < $1.id }
            #expect(codes.map(\.code) == [.ok, .noSuchFile, .noSuchFile, .noSuchFile, .noSuchFile])
            #expect(codes.first.map { Array($0.data.readableBytesView) } == Array(Self.bytes(of: come[0])))

            var answered = 3
            try await scene.until {
                Self.answerAll(holder, &answered)
                return scene[0].read("film") == Self.content
            }
            scene.clock.advance(by: ProgressReport.interval)
            try await scene.until { Self.progress(other).last?.updates.last?.kind == .forget }
            // Who still believes that it is in the temporary file gets it all the same.
            try await scene.until { try await scene[0].version("film") != nil }
            other.ask(Self.request(0, isFromTemporary: true))
            try await scene.until { Self.responses(other).count == 6 }
            #expect(Self.responses(other).last?.code == .ok)
        }
    }

    enum Unwilling: Sendable, CaseIterable { case switchedOff, paused, notSharing }

    @Test(arguments: Unwilling.allCases) func whoDoesNotWantItIsNotTold(why: Unwilling) async throws {
        try await SessionScene.run(1) { scene in
            let other = try await Self.peer(scene, as: 2) { config in
                switch why {
                case .switchedOff: config.folders[0].disablesTemporaryIndexes = true
                case .paused: config.folders[0].stopReason = 1
                case .notSharing: config.folders = []
                }
            }
            let holder = try await Self.holder(scene, as: 1)
            try await scene.until { !holder.requests.isEmpty }
            for (id, request) in holder.requests.prefix(1) {
                Self.answer(holder, id, Self.bytes(of: Int(request.blockIndex)))
            }
            try await scene.until { Self.blocksHere(scene[0])?.count == 1 }
            scene.clock.advance(by: ProgressReport.interval)
            // The holder, which shares the folder, is told: so would the other one have been.
            try await scene.until { !Self.progress(holder).isEmpty }
            #expect(Self.progress(other).isEmpty)
        }
    }

    // MARK: what is asked

    private static func claim(_ blocks: Range<Int>, _ kind: DownloadProgress.Update.Kind = .append) -> OutgoingMessage {
        .downloadProgress(
            DownloadProgress(
                folder: SessionAgent.folder,
                updates: [
                    .init(
                        kind: kind, name: "film", version: film.version, blockIndexes: blocks.map { Int32($0) },
                        blockSize: Int32(BlockSize.minimum))
                ]))
    }

    enum Answer: Sendable, CaseIterable { case right, wrong, refused }

    @Test(arguments: Answer.allCases) func whoIsDownloadingItIsAskedForWhatItHas(answer: Answer) async throws {
        try await SessionScene.run(1) { scene in
            let other = try await Self.peer(scene, as: 2)
            other.say(Self.claim(30..<40))
            let holder = try await Self.holder(scene, as: 1)
            var answered = 0
            func serve() {
                for (id, request) in other.requests[answered...] {
                    #expect(request.isFromTemporary && (30..<40).contains(request.blockIndex))
                    #expect(request == Self.request(Int(request.blockIndex), isFromTemporary: true))
                    answered += 1
                    switch answer {
                    case .right: Self.answer(other, id, Self.bytes(of: Int(request.blockIndex)))
                    case .wrong: Self.answer(other, id, Self.bytes(of: 0))
                    case .refused:
                        other.say(.response(BlockResponse(id: id, data: ByteBuffer(), code: .noSuchFile)))
                    }
                }
            }
            let enough = answer == .right ? 10 : 1
            try await scene.until {
                serve()
                return answered >= enough
            }
            var served = 0
            try await scene.until {
                serve()
                Self.answerAll(holder, &served)
                return scene[0].read("film") == Self.content
            }
            #expect(holder.requests.allSatisfy { !$0.request.isFromTemporary })
            #expect(holder.requests.count == (answer == .right ? Self.blockCount - 10 : Self.blockCount))
            #expect(!other.hasEnded)
        }
    }

    enum End: Sendable, CaseIterable { case forgotten, announced, lost }

    @Test(arguments: End.allCases) func whatItSaidHoldsNoLongerThanItIsSo(end: End) async throws {
        try await SessionScene.run(1) { scene in
            let wire = MemoryWire()
            let other = try await scene.peer(as: 2, over: wire)
            other.sayHello()
            other.say(.clusterConfig(other.config(has: 1)))
            let board = try #require(scene[0].fetching.downloads?.board)
            other.say(Self.claim(0..<48))
            try await scene.until { !board.holders(of: Self.film, in: SessionAgent.folder).isEmpty }
            switch end {
            case .forgotten: other.say(Self.claim(0..<0, .forget))
            case .announced:
                other.say(
                    .index(folder: SessionAgent.folder, files: [Self.film], isFullIndex: true, previousSequence: 0))
            case .lost: wire.cut()
            }
            try await scene.until { board.holders(of: Self.film, in: SessionAgent.folder).isEmpty }
        }
    }

    /// Nothing is believed of a folder that is not shared with the device.
    @Test func whatIsNotSharedIsNotTaken() async throws {
        try await SessionScene.run(1, { configuration, _ in configuration.devices.removeLast() }) { scene in
            let other = try await Self.peer(scene, as: 2)
            other.say(Self.claim(0..<48))
            other.ask(Self.request(0, isFromTemporary: true))
            try await scene.until { !Self.responses(other).isEmpty }
            #expect(Self.responses(other).map(\.code) == [.generic])
            let board = try #require(scene[0].fetching.downloads?.board)
            #expect(board.holders(of: Self.film, in: SessionAgent.folder).isEmpty)
        }
    }

    /// Two agents download the film from a third device, which sends a block a second to each: it sends little more than one film.
    @Test func twoThatDownloadTheSameShareIt() async throws {
        try await SessionScene.run(2) { scene in
            try await scene.connect()
            try await scene.until { scene[0].session(scene.ids[1]) != nil && scene[1].session(scene.ids[0]) != nil }
            let holders = [
                try await Self.holder(scene, of: 0, as: 2), try await Self.holder(scene, of: 1, as: 2),
            ]
            var served = [0, 0]
            var rounds = 0
            while scene[0].read("film") != Self.content || scene[1].read("film") != Self.content {
                rounds += 1
                try #require(rounds < 2 * Self.blockCount)
                for number in 0...1 where holders[number].requests.count > served[number] {
                    let (id, request) = holders[number].requests[served[number]]
                    Self.answer(holders[number], id, Self.bytes(of: Int(request.blockIndex)))
                    served[number] += 1
                }
                scene.clock.advance(by: .seconds(1))
                var turns = 0
                try await scene.until {
                    turns += 1
                    return turns > 100
                }
            }
            let asked = holders.map { $0.requests.count }
            #expect(asked.reduce(0, +) < Self.blockCount * 3 / 2, "asked for \(asked) blocks")
        }
    }
}
