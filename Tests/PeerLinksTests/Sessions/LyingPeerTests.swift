import BlockExchange
import Cryptography
import IndexStore
import NIOCore
import SyncTestKit
import Testing

@testable import PeerLinks
@testable import SessionTestKit

/// What a session does with a peer that lies, breaks the protocol, or says things in the wrong order. Nothing of it reaches the
/// disk, and what harms only the link ends only the link.
@Suite(.serialized, .timeLimit(.minutes(2))) struct LyingPeerTests {
    private static let content: [UInt8] = {
        var random = SeededGenerator(seed: 6)
        return random.bytes(BlockSize.minimum + 1000)
    }()

    private static func file(_ name: String, _ bytes: [UInt8], sequence: Int64 = 1, value: UInt64 = 1) -> FileInfo {
        var blocks: [BlockInfo] = []
        for offset in stride(from: 0, to: bytes.count, by: BlockSize.minimum) {
            let block = bytes[offset...].prefix(BlockSize.minimum)
            blocks.append(BlockInfo(offset: Int64(offset), size: Int32(block.count), hash: SHA256.digest(Array(block))))
        }
        return FileInfo(
            name: name, size: Int64(bytes.count), modifiedSeconds: 1_700_000_000,
            version: VersionVector([.init(id: ShortID(rawValue: 9), value: value)]), sequence: sequence,
            modifiedBy: ShortID(rawValue: 9), blockSize: Int32(BlockSize.minimum), blocks: blocks)
    }

    /// A peer that has said Hello and been told what is shared with it.
    private static func peer(_ scene: SessionScene, over wire: MemoryWire = MemoryWire()) async throws -> ScriptedPeer {
        let peer = try await scene.peer(over: wire)
        peer.sayHello()
        try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
        return peer
    }

    private static func announce(_ files: [FileInfo], _ peer: ScriptedPeer) {
        peer.say(.clusterConfig(peer.config(has: files.last?.sequence ?? 0)))
        peer.say(.index(folder: SessionAgent.folder, files: files, isFullIndex: true, previousSequence: 0))
    }

    /// Answers what the agent asks for from `answered` on.
    private static func answer(
        _ peer: ScriptedPeer, _ answered: inout Int, _ data: (BlockRequest) -> [UInt8]
    ) {
        for (id, request) in peer.requests[answered...] {
            peer.say(.response(BlockResponse(id: id, data: ByteBuffer(bytes: data(request)), code: .ok)))
            answered += 1
        }
    }

    private static func truth(_ request: BlockRequest) -> [UInt8] {
        Array(content[Int(request.offset)...].prefix(Int(request.size)))
    }

    // MARK: blocks

    enum Lie: Sendable, CaseIterable { case otherBytes, tooFew, none }

    @Test(arguments: Lie.allCases) func wrongBlocksNeverGetIntoPlace(lie: Lie) async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene)
            Self.announce([Self.file("report", Self.content)], peer)
            var answered = 0
            try await scene.until {
                Self.answer(peer, &answered) { request in
                    switch lie {
                    case .otherBytes: Self.truth(request).map { ~$0 }
                    case .tooFew: Self.truth(request).dropLast()
                    case .none: []
                    }
                }
                return scene[0].folder.boards.status.snapshot.problems["report"] != nil
            }
            #expect(scene[0].read("report") == nil)
            #expect(try await scene[0].version("report") == nil)
            #expect(!peer.hasEnded, "a wrong block ends no link")
            // The same peer, honest now.
            scene[0].folder.boards.inbox.pullNow()
            try await scene.until {
                Self.answer(peer, &answered, Self.truth)
                return scene[0].read("report") == Self.content
            }
            try await scene.until { try await scene[0].version("report") != nil }
            #expect(scene[0].names == ["report"])
        }
    }

    @Test func moreBytesThanWereAskedForEndTheLink() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene)
            Self.announce([Self.file("report", Self.content)], peer)
            var answered = 0
            try await scene.until {
                Self.answer(peer, &answered) { Self.truth($0) + [0] }
                return peer.hasEnded
            }
            #expect(peer.closeReason?.contains("bytes was answered with") == true)
            #expect(scene[0].read("report") == nil)
        }
    }

    @Test func answersToNothingArePassedOver() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene)
            peer.say(.clusterConfig(peer.config(has: 0)))
            for id in [0, 1, -1, .max, .min] as [Int32] {
                peer.say(.response(BlockResponse(id: id, data: ByteBuffer(bytes: [1, 2, 3]), code: .ok)))
            }
            Self.announce([Self.file("report", Self.content)], peer)
            var answered = 0
            try await scene.until {
                // Twice each: the second one answers nothing.
                let before = answered
                Self.answer(peer, &answered, Self.truth)
                for (id, _) in peer.requests[before..<answered] {
                    peer.say(.response(BlockResponse(id: id, data: ByteBuffer(bytes: [9]), code: .generic)))
                }
                return scene[0].read("report") == Self.content
            }
            #expect(!peer.hasEnded)
        }
    }

    @Test func requestsForWhatIsNotSharedAreRefused() async throws {
        try await SessionScene.run(1) { scene in
            try scene[0].write([1, 2, 3], to: "a")
            try await scene.until { try await scene[0].version("a") != nil }
            let peer = try await Self.peer(scene)
            peer.say(.clusterConfig(peer.config(has: 0)))
            let requests = [
                BlockRequest(folder: SessionAgent.folder, name: "a", offset: 0, size: 3, hash: nil),
                BlockRequest(folder: FolderID("other"), name: "a", offset: 0, size: 3, hash: nil),
                BlockRequest(folder: SessionAgent.folder, name: "b", offset: 0, size: 3, hash: nil),
                BlockRequest(folder: SessionAgent.folder, name: "a", offset: 3, size: 3, hash: nil),
                BlockRequest(folder: SessionAgent.folder, name: "a", offset: 1 << 40, size: 3, hash: nil),
                BlockRequest(folder: SessionAgent.folder, name: ".stfolder/x", offset: 0, size: 3, hash: nil),
            ]
            for request in requests { peer.ask(request) }
            func answers() -> [BlockResponse] {
                peer.events.compactMap { if case .response(let response) = $0 { response } else { nil } }
            }
            try await scene.until { answers().count == requests.count || peer.hasEnded }
            let good = answers().filter { $0.code == .ok }
            #expect(good.map { Array($0.data.readableBytesView) } == [[1, 2, 3]])
            #expect(answers().filter { $0.code != .ok }.allSatisfy { $0.data.readableBytes == 0 })
        }
    }

    // MARK: indexes

    @Test func anIndexOfAFolderThatIsNotSharedIsNotTaken() async throws {
        try await SessionScene.run(1, { configuration, _ in configuration.devices = [] }) { scene in
            let peer = try await Self.peer(scene)
            for folder in [SessionAgent.folder, FolderID("other")] {
                peer.say(.clusterConfig(peer.config(folder, has: 1)))
                for isFull in [true, false] {
                    peer.say(
                        .index(
                            folder: folder, files: [Self.file("report", Self.content)], isFullIndex: isFull,
                            previousSequence: 0))
                }
            }
            // Behind it the link goes on: what is answered comes after what was said before.
            peer.ask(BlockRequest(folder: SessionAgent.folder, name: "report", offset: 0, size: 3, hash: nil))
            try await scene.until { peer.events.contains { if case .response = $0 { true } else { false } } }
            // The second config does not offer the first one's folder any more.
            try await scene.until {
                try await scene[0].index.pendingFolders().map(\.id) == [FolderID("other")]
            }
            try await scene.until { scene[0].session(peer.id)?.peerConfig?.folders.first?.id == FolderID("other") }
            #expect(!peer.hasEnded && peer.requests.isEmpty)
            #expect(try await scene[0].index.global(SessionAgent.folder, "report") == nil)
            #expect(try await scene[0].index.announcers(of: SessionAgent.folder).isEmpty)
        }
    }

    @Test(arguments: [Frame.index, Frame.indexUpdate, Frame.request, Frame.ping])
    func aMessageBeforeTheConfigEndsTheLink(type: Int) async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene)
            peer.say(bytes: Frame.message(type, Proto().text(1, SessionAgent.folder.rawValue)))
            try await scene.until { peer.hasEnded }
            #expect(peer.closeReason?.hasSuffix("instead of a cluster config") == true)
            try await scene.until { scene[0].session(peer.id) == nil }
            #expect(try await scene[0].index.announcers(of: SessionAgent.folder).isEmpty)
        }
    }

    /// The same config again is nothing new: the index goes on where it was.
    @Test func aConfigMayComeAnyNumberOfTimes() async throws {
        try await SessionScene.run(1) { scene in
            try scene[0].write([1], to: "a")
            try await scene.until { try await scene[0].version("a") != nil }
            let wire = MemoryWire()
            let peer = try await Self.peer(scene, over: wire)
            Self.announce([Self.file("report", Self.content)], peer)
            var answered = 0
            try await scene.until {
                Self.answer(peer, &answered, Self.truth)
                return scene[0].read("report") == Self.content
            }
            // It claims each time to have nothing, so it gets everything each time; never two feeds at once.
            for round in 2...4 {
                peer.say(.clusterConfig(peer.config(has: 1)))
                try await scene.until { wire.count(of: Frame.index, from: .answerer) == round }
            }
            try await scene.settle(wire)
            #expect(wire.count(of: Frame.index, from: .answerer) == 4)
            #expect(try await scene[0].index.remoteIndex(of: SessionAgent.folder, device: peer.id)?.maxSequence == 1)
            #expect(!peer.hasEnded)
        }
    }

    /// Commit 22e9d5f, over a link; and with an older index of the peer known from before.
    @Test(arguments: [false, true]) func anIndexThatComesBeforeItsConfigIsKept(isKnown: Bool) async throws {
        try await SessionScene.run(1) { scene in
            if isKnown {
                let wire = MemoryWire()
                let peer = try await Self.peer(scene, over: wire)
                peer.say(.clusterConfig(peer.config(has: 1, id: IndexID(rawValue: 5))))
                peer.say(
                    .index(
                        folder: SessionAgent.folder, files: [FileInfo(name: "old", kind: .directory, sequence: 1)],
                        isFullIndex: true, previousSequence: 0))
                try await scene.until { try await scene[0].index.global(SessionAgent.folder, "old") != nil }
                wire.cut()
                try await scene.until { scene[0].session(peer.id) == nil }
            }
            let peer = try await Self.peer(scene)
            peer.say(.clusterConfig(ClusterConfig()))
            peer.say(
                .index(
                    folder: SessionAgent.folder, files: [Self.file("report", Self.content)], isFullIndex: true,
                    previousSequence: 0))
            peer.say(.clusterConfig(peer.config(has: 1)))
            var answered = 0
            try await scene.until {
                Self.answer(peer, &answered, Self.truth)
                return scene[0].read("report") == Self.content
            }
            let known = try await scene[0].index.remoteIndex(of: SessionAgent.folder, device: peer.id)
            #expect(known == IndexStore.IndexState(indexID: IndexID(rawValue: 77), maxSequence: 1))
        }
    }

    struct Entry: Sendable, CustomTestStringConvertible {
        var file: FileInfo
        var testDescription: String { file.name }

        init(_ name: String = "report", _ change: (inout FileInfo) -> Void = { _ in }) {
            file = LyingPeerTests.file(name, LyingPeerTests.content)
            change(&file)
        }
    }

    /// The whole link ends, because a peer that breaks BEP's rules once is not to be understood at all.
    @Test(
        arguments: [
            Entry("../outside"), Entry("/etc/passwd"), Entry("a/../../b"), Entry(""), Entry("a\u{0}b"),
            Entry { $0.size = -1 }, Entry { $0.size = .max }, Entry { $0.size += 1 }, Entry { $0.blocks.removeLast() },
            Entry { $0.blocks[1].offset = 5 }, Entry { $0.blockSize = 3 },
        ])
    func anEntryThatCannotBeIsNotTaken(entry: Entry) async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene)
            Self.announce([entry.file], peer)
            try await scene.until { peer.hasEnded }
            #expect(peer.closeReason != nil)
            #expect(scene[0].names.isEmpty)
            #expect(try await scene[0].index.global(SessionAgent.folder, entry.file.name)?.file == nil)
            // An honest link afterwards is as good as any.
            try await scene.until { scene[0].session(peer.id) == nil }
            let honest = try await Self.peer(scene)
            Self.announce([Self.file("report", Self.content)], honest)
            var answered = 0
            try await scene.until {
                Self.answer(honest, &answered, Self.truth)
                return scene[0].read("report") == Self.content
            }
        }
    }

    // MARK: bytes

    /// Long enough that none of it can be the beginning of a message that is still to come.
    @Test(arguments: [
        [UInt8](repeating: 0xFF, count: 70_000), Array(repeatElement("GET / HTTP/1.1\r\n", count: 4000).joined().utf8),
        Frame.message(Frame.clusterConfig, Proto().raw([0xFF, 0xFF])),
        Frame.message(Frame.clusterConfig, length: Int(UInt32.max)),
    ])
    func nonsenseAfterTheHelloEndsTheLink(bytes: [UInt8]) async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene)
            peer.say(bytes: bytes)
            try await scene.until { peer.hasEnded && scene[0].session(peer.id) == nil }
            #expect(scene[0].names.isEmpty)
        }
    }
}
