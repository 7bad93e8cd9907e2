import BlockExchange
import Fetching
import NIOCore
import SyncDecisions
import SyncTestKit
import Testing

@testable import PeerLinks
@testable import SessionTestKit

/// What a person waits for goes before all that is to be here some day: a peer answers in order.
@Suite(.serialized, .timeLimit(.minutes(2))) struct BulkRequestTests {
    private static let block = 128 << 10

    private static func request(_ name: String, _ number: Int) -> BlockRequest {
        BlockRequest(
            folder: SessionAgent.folder, name: name, offset: Int64(number * block), size: Int32(block), hash: nil)
    }

    /// The agent's, with a peer that has said what it shares.
    private static func session(with peer: ScriptedPeer, _ scene: SessionScene) async throws -> PeerSession {
        peer.sayHello()
        try await scene.until { peer.events.contains { if case .clusterConfig = $0 { true } else { false } } }
        peer.say(.clusterConfig(peer.config(has: 0)))
        try await scene.until { scene[0].device(peer.id)?.session?.peerConfig != nil }
        return try #require(scene[0].device(peer.id)?.session)
    }

    private static func answer(_ id: Int32, _ peer: ScriptedPeer) {
        peer.say(.response(BlockResponse(id: id, data: ByteBuffer(repeating: 7, count: block), code: .ok)))
    }

    @Test func anUrgentRequestIsNotBehindAllOthers() async throws {
        try await SessionScene.run(1) { scene in
            let peer = try await scene.peer()
            let session = try await Self.session(with: peer, scene)
            let atOnce = BlockWindow.first / Self.block
            let count = atOnce + 10
            let bulk = (0..<count).map { number in
                Task { try await session.request(Self.request("bulk", number), isBulk: true) }
            }
            try await scene.until { peer.requests.count + session.waitingBulkCount == count }
            #expect(peer.requests.count == atOnce)

            let urgent = Task { try await session.request(Self.request("urgent", 0), isBulk: false) }
            try await scene.until { peer.requests.count > atOnce }
            #expect(peer.requests.map(\.request.name) == Array(repeating: "bulk", count: atOnce) + ["urgent"])

            // One of those that wait is cancelled; the others come when there is room.
            bulk[count - 1].cancel()
            await #expect(throws: CancellationError.self) { try await bulk[count - 1].value }
            Self.answer(peer.requests[atOnce].id, peer)
            #expect(try await urgent.value.readableBytes == Self.block)
            // All but the cancelled one, and the urgent one.
            for number in 0..<count {
                try await scene.until { peer.requests.count > number }
                let (id, request) = peer.requests[number]
                if request.name == "bulk" { Self.answer(id, peer) }
            }
            for task in bulk.dropLast() { #expect(try await task.value.readableBytes == Self.block) }
        }
    }

    @Test func whoWaitsForItsTurnLosesItWithTheLink() async throws {
        try await SessionScene.run(1) { scene in
            let wire = MemoryWire()
            let peer = try await scene.peer(over: wire)
            let session = try await Self.session(with: peer, scene)
            let tasks = (0..<20).map { number in
                Task { try await session.request(Self.request("bulk", number), isBulk: true) }
            }
            try await scene.until { session.waitingBulkCount == 20 - BlockWindow.first / Self.block }
            wire.cut()
            for task in tasks { await #expect(throws: RequestError.self) { try await task.value } }
        }
    }
}
