import BlockExchange
import Cryptography
import Foundation
import IndexStore
import NIOCore
import SyncTestKit
import Testing

@testable import PeerLinks
@testable import SessionTestKit

/// The real sessions, folder and index of an agent with a device that says anything. Whatever it says, the agent goes on:
/// it syncs with an honest device afterwards, and again after a restart on what it has stored.
///
/// `SYNCTRAIN_FUZZ_SECONDS` runs as many seeds as fit into so many seconds, from `SYNCTRAIN_FUZZ_FIRST` (1) on, and names each.
@Suite(.serialized) struct SessionFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SYNCTRAIN_FUZZ_SECONDS"].flatMap { Int($0) }
    private static let first = environment["SYNCTRAIN_FUZZ_FIRST"].flatMap { UInt64($0) } ?? 1
    private static let mine = Array("mine, and nobody's else".utf8)

    @Test(.enabled(if: seconds == nil), .timeLimit(.minutes(3)), arguments: UInt64(1)...60)
    func `what a device says harms nobody`(seed: UInt64) async throws { try await Self.run(seed) }

    @Test(.enabled(if: seconds != nil)) func `what a device says for long harms nobody`() async throws {
        let start = ContinuousClock.now
        var seed = Self.first
        while ContinuousClock.now - start < .seconds(Self.seconds ?? 0) {
            FileHandle.standardError.write(Data("session fuzz: seed \(seed)\n".utf8))
            do {
                try await Self.run(seed)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            seed += 1
        }
    }

    private static func run(_ seed: UInt64) async throws {
        try await SessionScene.run(1) { scene in
            let agentIndex = try await scene[0].index.localIndex(of: SessionAgent.folder).indexID
            var fuzzed = FuzzedPeer(seed: seed, agent: scene[0].id, agentIndex: agentIndex)
            try scene[0].write(mine, to: "kept/mine")
            try await scene.until { try await scene[0].version("kept/mine") != nil }
            for _ in 0..<fuzzed.count(1...3) { try await link(scene, &fuzzed, seed) }
            try await everythingIsReadable(scene[0].index)
            try await scene.stop(0)
            try await scene.start(0)
            // A device that keeps the folder encrypted gets and gives nothing more.
            if !fuzzed.isEncrypted { try await syncs(scene) }
            #expect(scene[0].read("kept/mine") == mine, "seed \(seed)")
        }
    }

    /// One link, until the device hangs up or has said enough.
    private static func link(_ scene: SessionScene, _ fuzzed: inout FuzzedPeer, _ seed: UInt64) async throws {
        let wire = MemoryWire()
        let peer = try await scene.peer(over: wire, kind: fuzzed.kind())
        fuzzed.begin(peer)
        for _ in 0..<fuzzed.count(1...25) {
            try await turns(fuzzed.count(0...40), of: scene)
            if peer.hasEnded { break }
            guard fuzzed.act(peer) else { break }
            if fuzzed.count(1...20) == 1 { scene.clock.advance(by: .seconds(fuzzed.count(1...100))) }
        }
        try await turns(50, of: scene)
        wire.cut()
        try await scene.until { scene[0].session(scene.ids[1]) == nil }
    }

    private static func turns(_ count: Int, of scene: SessionScene) async throws {
        var left = count
        try await scene.until {
            left -= 1
            return left < 0
        }
    }

    private static func everythingIsReadable(_ index: IndexStore) async throws {
        let folder = SessionAgent.folder
        _ = try await index.completion(of: folder)
        _ = try await index.completion(of: folder, below: "")
        _ = try await index.totals(of: folder)
        _ = try await index.search("e")
        _ = try await index.children(folder, of: "")
        _ = try await index.localUpdates(of: folder, after: 0, limit: 1000)
        _ = try await index.needed(in: folder, limit: 1000, isKept: { _ in true }, mayContain: { _ in true })
    }

    /// The same device, honest now, and what it says is taken.
    private static func syncs(_ scene: SessionScene) async throws {
        let content = Array("honest".utf8)
        let file = FileInfo(
            name: "honest", size: Int64(content.count), modifiedSeconds: 1_700_000_000,
            version: VersionVector([.init(id: ShortID(rawValue: 9), value: 3)]), sequence: 1,
            modifiedBy: ShortID(rawValue: 9), blockSize: Int32(BlockSize.minimum),
            blocks: [BlockInfo(offset: 0, size: Int32(content.count), hash: SHA256.digest(content))])
        let peer = try await scene.peer()
        peer.sayHello()
        try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
        peer.say(.clusterConfig(peer.config(has: 1, id: IndexID(rawValue: 123_456))))
        peer.say(.index(folder: SessionAgent.folder, files: [file], isFullIndex: true, previousSequence: 0))
        var answered = 0
        try await scene.until {
            for (id, request) in peer.requests.dropFirst(answered) {
                answered += 1
                let isHonest = request.name == "honest"
                peer.say(
                    .response(
                        BlockResponse(
                            id: id, data: ByteBuffer(bytes: isHonest ? content : []),
                            code: isHonest ? .ok : .noSuchFile)))
            }
            return scene[0].read("honest") == content
        }
    }
}
