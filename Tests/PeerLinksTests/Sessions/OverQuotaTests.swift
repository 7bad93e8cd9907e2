import AgentConfiguration
import BlockExchange
import IndexStore
import Testing

@testable import PeerLinks
@testable import SessionTestKit

/// A device that goes over a quota is paused, with the reason, until it is resumed; the others go on.
@Suite(.serialized, .timeLimit(.minutes(2))) struct OverQuotaTests {
    private static func peer(_ scene: SessionScene, _ number: Int) async throws -> ScriptedPeer {
        let peer = try await scene.peer(as: number)
        peer.sayHello()
        try await scene.until { peer.hasEnded || isGreeted(peer) }
        return peer
    }

    private static func isGreeted(_ peer: ScriptedPeer) -> Bool {
        peer.events.contains { if case .clusterConfig = $0 { true } else { false } }
    }

    private static func files(_ numbers: ClosedRange<Int64>) -> [FileInfo] {
        numbers.map {
            FileInfo(
                name: "n\($0)", isDeleted: true, version: VersionVector([.init(id: ShortID(rawValue: 9), value: 1)]),
                sequence: $0)
        }
    }

    private static func announce(_ numbers: ClosedRange<Int64>, _ peer: ScriptedPeer, isFull: Bool) {
        peer.say(
            .index(
                folder: SessionAgent.folder, files: files(numbers), isFullIndex: isFull,
                previousSequence: isFull ? 0 : numbers.lowerBound - 1))
    }

    private static func known(_ scene: SessionScene, of number: Int) async throws -> IndexStore.IndexState? {
        try await scene[0].index.remoteIndex(of: SessionAgent.folder, device: scene.ids[number])
    }

    /// Is paused for it, on all its links and on those that come; a third device goes on.
    private static func expectPaused(_ scene: SessionScene, over quota: DeviceQuota) async throws {
        let (id, other) = (scene.ids[1], scene.ids[2])
        let state = try #require(scene[0].device(id)).state
        #expect(state.isPaused && state.exceededQuota == quota)
        #expect(scene[0].pauses.map(\.device) == [id] && scene[0].pauses.map(\.quota) == [quota])
        let status = state.status(of: id, links: [])
        #expect(status.pauseReason == quota.rawValue && status.pauseMessage == quota.text.english)
        let again = try await peer(scene, 1)
        #expect(!isGreeted(again) && again.closeReason?.hasPrefix(quota.text.english) == true)
        // The folder is as well as before, and the other device is heard.
        #expect(scene[0].folder.exchange.gap == nil)
        let honest = try await peer(scene, 2)
        honest.say(.clusterConfig(honest.config(has: 2)))
        announce(1...2, honest, isFull: true)
        try await scene.until { try await known(scene, of: 2)?.maxSequence == 2 }
        #expect(!honest.hasEnded && scene[0].device(other)?.state.isPaused == false)
    }

    /// As the agent does when the configuration says so.
    private static func pauseAndResume(_ scene: SessionScene, over quota: DeviceQuota) async throws {
        let id = scene.ids[1]
        var configuration = DeviceConfiguration(id: id, name: "\(id.shortID)", addresses: [])
        configuration.isPaused = true
        configuration.exceededQuota = quota
        await scene[0].device(id)?.configure(configuration)
        #expect(scene[0].device(id)?.state.exceededQuota == quota)
        configuration.isPaused = false
        configuration.exceededQuota = nil
        await scene[0].device(id)?.configure(configuration)
        #expect(scene[0].device(id)?.state.isPaused == false && scene[0].device(id)?.state.exceededQuota == nil)
    }

    @Test func oneThatSaysWhatItSharesInACircle() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene, 1)
            for _ in 0..<300 where !peer.hasEnded { peer.say(.clusterConfig(peer.config(has: 0))) }
            try await scene.until { peer.hasEnded }
            try await Self.expectPaused(scene, over: .sharing)
            // Time changes nothing.
            scene.clock.advance(by: .seconds(3600))
            let early = try await Self.peer(scene, 1)
            #expect(!Self.isGreeted(early))
            try await Self.pauseAndResume(scene, over: .sharing)
            // As much as at first.
            let late = try await Self.peer(scene, 1)
            #expect(Self.isGreeted(late))
            for _ in 0..<190 { late.say(.clusterConfig(late.config(has: 2))) }
            Self.announce(1...2, late, isFull: true)
            try await scene.until { try await Self.known(scene, of: 1)?.maxSequence == 2 }
            #expect(!late.hasEnded)
        }
    }

    @Test func oneThatOffersVeryManyFolders() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await Self.peer(scene, 1)
            let folders = (0...DeviceAllowance.offers).map { ClusterConfig.Folder(id: FolderID("o\($0)")) }
            peer.say(.clusterConfig(ClusterConfig(folders: folders)))
            try await scene.until { peer.hasEnded }
            try await Self.expectPaused(scene, over: .offers)
        }
    }

    @Test func oneThatAnnouncesTooManyNames() async throws {
        var quota = IndexStore.Quota()
        quota.entries = 5
        try await SessionScene.run(1, quota: quota) { scene in
            let peer = try await Self.peer(scene, 1)
            peer.say(.clusterConfig(peer.config(has: 7)))
            Self.announce(1...6, peer, isFull: true)
            try await scene.until { try await Self.known(scene, of: 1)?.maxSequence == 6 }
            Self.announce(7...7, peer, isFull: false)
            try await scene.until { peer.hasEnded }
            try await Self.expectPaused(scene, over: .names)
            try await Self.pauseAndResume(scene, over: .names)
            // It has deleted some meanwhile. Its index is asked for from the start.
            let late = try await Self.peer(scene, 1)
            let asked = late.events.compactMap { event -> IndexID? in
                guard case .clusterConfig(let config) = event else { return nil }
                return config.folders.first?.devices.first { $0.id == scene.ids[1] }?.indexID
            }
            #expect(asked == [IndexID.none])
            late.say(.clusterConfig(late.config(has: 3)))
            Self.announce(1...3, late, isFull: true)
            Self.announce(4...4, late, isFull: false)
            try await scene.until { try await Self.known(scene, of: 1)?.maxSequence == 4 }
            #expect(!late.hasEnded)
        }
    }

    @Test func theReasonLastsOverARestart() {
        let id = DeviceID(certificateDER: [7])
        var configuration = DeviceConfiguration(id: id, isPaused: true)
        configuration.exceededQuota = .nameBytes
        let status = DeviceSession.Snapshot(configuration).status(of: id, links: [])
        #expect(status.isPaused && status.pauseReason == "name-bytes")
        #expect(status.pauseMessage == "it announces more than 2 GiB of names and attributes in one folder")
    }
}
