import AsyncTools
import BlockExchange
import SyncTestKit
import Testing

@testable import SessionTestKit

/// Several links with one device: which of them has the indexes, whatever happens to the others.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SeveralLinksTests {
    /// A peer that loses one link after the other gives the indexes to the next each time. This device hears of all that at once,
    /// while it still stores what came on the first link.
    @Test func theLinkThatThePeerChoseLastHasTheIndexes() async throws {
        try await SessionScene.run(1, connections: 3) { scene in
            try scene[0].write([1], to: "a")
            try await scene.until { try await scene[0].version("a") != nil }
            let wires = (0..<3).map { MemoryWire(number: $0) }
            var peers: [ScriptedPeer] = []
            for wire in wires {
                let peer = try await scene.peer(over: wire)
                peer.sayHello(connections: 3)
                let isFirst = peers.isEmpty
                peer.say(.clusterConfig(isFirst ? peer.config(has: 0) : ClusterConfig(isSecondary: true)))
                try await scene.until { wire.count(of: Frame.clusterConfig, from: .answerer) == 1 }
                peers.append(peer)
            }
            try await scene.until { wires[0].count(of: Frame.index, from: .answerer) == 1 }

            for wire in wires { wire.hold(.dialler) }
            for number in 1...20 {
                let file = FileInfo(
                    name: "f\(number)", kind: .directory,
                    version: VersionVector([.init(id: peers[0].id.shortID, value: 1)]), sequence: Int64(number),
                    modifiedBy: peers[0].id.shortID)
                peers[0].say(
                    .index(
                        folder: SessionAgent.folder, files: [file], isFullIndex: number == 1,
                        previousSequence: Int64(number) - 1))
            }
            for peer in peers.dropFirst() { peer.say(.clusterConfig(peer.config(has: 0))) }
            for wire in wires { wire.release(.dialler) }
            try await scene.until { wires[2].count(of: Frame.index, from: .answerer) == 1 }
            try scene[0].write([2], to: "b")
            try await scene.until { wires[2].count(of: Frame.indexUpdate, from: .answerer) == 1 }
            #expect(wires[1].count(of: Frame.index, from: .answerer) == 0)
            let primary = try #require(scene[0].session(peers[0].id))
            #expect(primary.information.remoteAddress == "memory://2")
            #expect(peers.map(\.closeReason) == [nil, nil, nil])
            // The others may still be asked, and ask.
            #expect(scene[0].device(peers[0].id)?.source.sessions.count == 3)
        }
    }

    /// A peer that has lost its links asks on a new one at once, which for this device is a further one yet.
    @Test func aRequestIsAnsweredOnlyAfterTheClusterConfig() async throws {
        try await SessionScene.run(1, connections: 3) { scene in
            try scene[0].write([1], to: "a")
            try await scene.until { try await scene[0].version("a") != nil }
            let wires = (0..<2).map { MemoryWire(number: $0) }
            let first = try await scene.peer(over: wires[0])
            first.sayHello(connections: 3)
            first.say(.clusterConfig(first.config(has: 0)))
            try await scene.until { wires[0].count(of: Frame.index, from: .answerer) == 1 }
            let second = try await scene.peer(over: wires[1])
            second.sayHello(connections: 3)
            second.say(.clusterConfig(second.config(has: 0)))
            second.ask(BlockRequest(folder: SessionAgent.folder, name: "a", offset: 0, size: 1, hash: nil))
            try await scene.until {
                second.events.contains { if case .response = $0 { true } else { false } }
            }
            #expect(wires[1].count(of: Frame.clusterConfig, from: .answerer) == 1)
            #expect(!second.hasEnded)
        }
    }

    /// Which of two links a Syncthing keeps is waited for. A device that is removed meanwhile is not.
    @Test func aLinkThatIsNotDecidedEndsWithItsDevice() async throws {
        try await SessionScene.run(1, threads: .many) { scene in
            let (agent, id) = (scene[0], scene.ids[1])
            let first = try await scene.peer()
            first.sayHello()
            try await scene.until { agent.session(id) != nil }
            let wire = MemoryWire()
            let second = ScriptedPeer(id, of: agent.id, wire: wire, side: .answerer)
            let link = try await wire.link(.dialler, to: id)
            let device = try #require(agent.device(id))
            let hasEnded = Latch()
            let serving = Task {
                await device.serve(link)
                hasEnded.open()
            }
            defer { serving.cancel() }
            second.sayHello()
            try await scene.settle(wire)
            #expect(!second.hasEnded && wire.count(of: Frame.clusterConfig, from: .dialler) == 0)
            await device.stop()
            try await scene.until { second.hasEnded }
            try await scene.until { hasEnded.isOpen }
        }
    }
}
