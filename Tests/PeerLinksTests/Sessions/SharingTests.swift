import AgentConfiguration
import BlockExchange
import SyncTestKit
import Testing
import Transport

@testable import Fetching
@testable import IndexStore
@testable import PeerLinks
@testable import SessionTestKit

/// What goes over a link, and what no longer does, when a folder is paused, shared or not any more.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SharingTests {
    @Test(arguments: [0, 1]) func aPauseEndsBothIndexesUntilItIsOver(pausing: Int) async throws {
        try await SessionScene.run { scene in
            try scene[0].write([1], to: "a")
            let wire = try await scene.connect()
            try await scene.until { try await scene.haveBoth(["a": [1]]) }

            await scene[pausing].configure { $0.isPaused = true }
            let side = pausing == 0 ? MemoryWire.Side.dialler : .answerer
            try await scene.until { wire.count(of: Frame.clusterConfig, from: side) == 2 }
            let before = MemoryWire.Side.allCases.map { wire.count(of: Frame.indexUpdate, from: $0) }
            let other = 1 - pausing
            try scene[other].write([2], to: "b")
            try await scene.until { try await scene[other].version("b") != nil }
            try await scene.settle(wire)
            #expect(MemoryWire.Side.allCases.map { wire.count(of: Frame.indexUpdate, from: $0) } == before)
            #expect(scene[pausing].read("b") == nil)

            await scene[pausing].configure { $0.isPaused = false }
            try await scene.until { try await scene.haveBoth(["b": [2]]) }
        }
    }

    /// Updates that arrive while the folder is paused are dropped. None of what follows them may hide that.
    @Test func whatWasDroppedInAPauseComesAfterIt() async throws {
        try await SessionScene.run { scene in
            try scene[0].write([1], to: "a")
            let wire = try await scene.connect()
            try await scene.until { try await scene.haveBoth(["a": [1]]) }
            // One update arrives in the pause, one behind it, both sent before the pause was heard of.
            wire.hold(.dialler)
            wire.hold(.answerer)
            try scene[0].write([2], to: "b")
            try await scene.until { wire.waitingCount(from: .dialler) == 1 }
            try scene[0].write([3], to: "c")
            try await scene.until { wire.waitingCount(from: .dialler) == 2 }
            await scene[1].configure { $0.isPaused = true }
            try await scene.until { wire.waitingCount(from: .answerer) >= 1 }
            wire.releaseOne(.dialler)
            try await scene.until {
                try await scene[1].index.remoteIndex(of: SessionAgent.folder, device: scene.ids[0]) == nil
            }
            await scene[1].configure { $0.isPaused = false }
            try await scene.until { wire.waitingCount(from: .answerer) >= 2 }
            wire.releaseOne(.dialler)
            try await scene.settle(wire)
            // The link breaks before the other agent has heard anything of it.
            wire.cut()
            try await scene.until { scene[0].session(scene.ids[1]) == nil && scene[1].session(scene.ids[0]) == nil }
            try await scene.connect()
            try await scene.until { try await scene.haveBoth(["b": [2], "c": [3]]) }
        }
    }

    @Test func aFolderThatIsNoLongerSharedIsNotSent() async throws {
        try await SessionScene.run { scene in
            try scene[0].write([1], to: "a")
            let wire = try await scene.connect()
            try await scene.until { try await scene.haveBoth(["a": [1]]) }
            let before = wire.count(of: Frame.indexUpdate, from: .dialler)
            await scene[0].configure { $0.devices = [] }
            try scene[0].write([2], to: "b")
            try await scene.until { try await scene[0].version("b") != nil }
            try await scene.until { wire.count(of: Frame.clusterConfig, from: .dialler) == 2 }
            try await scene.settle(wire)
            #expect(wire.count(of: Frame.indexUpdate, from: .dialler) == before)
            // What the peer said of it holds no more on either side: no copy there counts for freeing here.
            #expect(scene[0].folder.boards.peers.all[scene.ids[1]] == nil)
            #expect(scene[1].folder.boards.peers.all[scene.ids[0]] == nil)
            // Nor is a block given.
            let session = try #require(scene[1].session(scene.ids[0]))
            await #expect(throws: RequestError.refused(.generic)) {
                try await session.request(
                    BlockRequest(folder: SessionAgent.folder, name: "a", offset: 0, size: 1, hash: nil), isBulk: false)
            }

            let ids = scene.ids
            await scene[0].configure { $0.devices = [ids[1], ids[2]] }
            try await scene.until { try await scene.haveBoth(["b": [2]]) }
            #expect(scene[0].folder.boards.peers.all[scene.ids[1]] != nil)
        }
    }

    /// Sharing that ends takes along what the device announced; shared again on the same link, the index comes from the start.
    @Test func whatADeviceAnnouncedEndsWithItsShareAndComesBackWhole() async throws {
        try await SessionScene.run { scene in
            try scene[0].write([1], to: "a")
            let wire = try await scene.connect()
            try await scene.until { try await scene.haveBoth(["a": [1]]) }
            try await scene.until { try await scene[0].version("a", of: scene.ids[1]) != nil }
            await scene[0].configure { $0.devices = [] }
            try await scene[0].folder.exchange.forget(scene.ids[1])
            #expect(try await scene[0].version("a", of: scene.ids[1]) == nil)
            #expect(try await scene[0].index.knownDevices() == [SessionAgent.folder: []])
            // What the device goes on announcing until it has heard of it is not stored.
            try scene[1].write([2], to: "b")
            try await scene.until { try await scene[1].version("b") != nil }
            try await scene.settle(wire)
            #expect(try await scene[0].index.knownDevices() == [SessionAgent.folder: []])

            let ids = scene.ids
            await scene[0].configure { $0.devices = [ids[1], ids[2]] }
            try await scene.until { try await scene.haveBoth(["a": [1], "b": [2]]) }
            try await scene.until { try await scene[0].version("a", of: ids[1]) != nil }
            try await scene.until { try await scene[0].isCurrent(of: scene[1]) }
        }
    }

    /// One accepts what the other offers while they are connected.
    @Test func aFolderIsSharedLater() async throws {
        let nobody: @Sendable (inout FolderConfiguration, Int) -> Void = { configuration, agent in
            if agent == 1 { configuration.devices = [] }
        }
        try await SessionScene.run(2, nobody) { scene in
            try scene[0].write([1], to: "a")
            let wire = try await scene.connect()
            try await scene.until { try await !scene[1].index.pendingFolders().isEmpty }
            #expect(wire.count(of: Frame.index, from: .dialler) == 0)
            let ids = scene.ids
            await scene[1].configure { $0.devices = [ids[0]] }
            try await scene.until { try await scene.haveBoth(["a": [1]]) }
            #expect(wire.count(of: Frame.index, from: .dialler) == 1)
        }
    }

    /// All else of the link is well: both devices would seem to be up to date.
    @Test func anIndexThatCannotBeReadEndsTheLink() async throws {
        try await SessionScene.run(1) { scene in
            try scene[0].write([1], to: "a")
            try await scene.until { try await scene[0].version("a") != nil }
            // An announcement without a name, as damage may leave it; only who sends the index reads it.
            try await scene[0].index.write { database in
                try RawStatement(database, "INSERT INTO own SELECT number, sequence + 1, root FROM folder").run()
                try RawStatement(database, "UPDATE folder SET sequence = sequence + 1").run()
            }
            let peer = try await scene.peer()
            peer.sayHello()
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            peer.say(.clusterConfig(peer.config(has: 0)))
            try await scene.until { peer.hasEnded }
            #expect(peer.closeReason == LinkEnd.unreadable.english)
        }
    }

    /// A link by radio need not name every folder.
    @Test(arguments: [LinkKind.tcp, .gatt]) func anOfferEndsWithTheConfigThatLeavesItOut(kind: LinkKind) async throws {
        try await SessionScene.run(1, { configuration, _ in configuration.devices = [] }) { scene in
            let peer = try await scene.peer(kind: kind)
            let other = FolderID("other")
            peer.sayHello()
            try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
            peer.say(.clusterConfig(peer.config(has: 0)))
            peer.say(.clusterConfig(peer.config(other, has: 0)))
            try await scene.until { try await scene[0].index.pendingFolders().contains { $0.id == other } }
            let offered = Set(try await scene[0].index.pendingFolders().map(\.id))
            #expect(offered == (kind == .tcp ? [other] : [SessionAgent.folder, other]))
        }
    }
}

extension SessionScene {
    /// Lets everything that can go on do so: for what is not to happen. No wait tells that nothing will; many turns of every
    /// task make it as good as sure, and a failure is never one of chance.
    func settle(_ wire: MemoryWire) async throws {
        var turns = 0
        try await until {
            turns += 1
            return turns > 500
        }
    }
}
