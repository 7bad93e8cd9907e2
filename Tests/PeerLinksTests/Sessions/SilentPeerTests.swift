import BlockExchange
import Cryptography
import IndexStore
import NIOCore
import SyncTestKit
import Testing

@testable import PeerLinks
@testable import SessionTestKit

/// A peer that answers no request and keeps its link by pings.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SilentPeerTests {
    private static let content: [UInt8] = [1, 2, 3]

    private static func files(_ names: [String]) -> [FileInfo] {
        names.enumerated().map { position, name in
            FileInfo(
                name: name, size: Int64(content.count), modifiedSeconds: 1_700_000_000,
                version: VersionVector([.init(id: ShortID(rawValue: 9), value: 1)]), sequence: Int64(position + 1),
                modifiedBy: ShortID(rawValue: 9), blockSize: Int32(BlockSize.minimum),
                blocks: [BlockInfo(offset: 0, size: Int32(content.count), hash: SHA256.digest(content))])
        }
    }

    /// A peer that has announced these.
    private static func peer(as number: Int, with names: [String], _ scene: SessionScene) async throws -> ScriptedPeer {
        let peer = try await scene.peer(as: number)
        peer.sayHello()
        try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
        let files = files(names)
        peer.say(.clusterConfig(peer.config(has: Int64(files.count))))
        peer.say(.index(folder: SessionAgent.folder, files: files, isFullIndex: true, previousSequence: 0))
        return peer
    }

    /// What another device has come to have after the folder began to wait for it. One file of its own, and several that are asked
    /// for together.
    @Test(arguments: [["bad"], ["bad", "worse", "worst"]])
    func whatOthersHaveComesOnceItsLinkIsClosed(names: [String]) async throws {
        try await SessionScene.run(1) { scene in
            let bad = try await Self.peer(as: 1, with: names, scene)
            try await scene.until { bad.requests.count == names.count }
            let good = try await Self.peer(as: 2, with: ["good"], scene)
            var (seconds, answered) = (0, 0)
            try await scene.until {
                scene.clock.advance(by: .seconds(1))
                seconds += 1
                if seconds.isMultiple(of: 30) { for peer in [bad, good] { peer.say(.ping) } }
                for (id, _) in good.requests[answered...] {
                    good.say(.response(BlockResponse(id: id, data: ByteBuffer(bytes: Self.content), code: .ok)))
                    answered += 1
                }
                return scene[0].read("good") == Self.content
            }
            #expect(bad.closeReason == "the peer answered no request for a block for 300 s")
            #expect(!good.hasEnded)
            for name in names { #expect(scene[0].read(name) == nil) }
        }
    }
}
