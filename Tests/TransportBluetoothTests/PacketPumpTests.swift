import Glibc
import MessageBus
import SyncTestKit
import Synchronization
import Testing
import Threads

@testable import TransportBluetooth

/// Local packet sockets stand for L2CAP ones: packets in order, each whole, and the same errors.
@Suite(.timeLimit(.minutes(1))) struct PacketPumpTests {
    /// A pump in a thread, with the other ends of its two sockets in hand.
    private final class Running: Sendable {
        let user: Descriptor
        let peer: Descriptor
        private let outcome = AsyncStream.makeStream(of: PacketPump.Outcome.self)

        init(packetLimit: Int, received: [UInt8] = []) throws {
            let (stream, user) = try Descriptor.pair(.stream)
            let (packets, peer) = try Descriptor.pair(.packets)
            self.user = user
            self.peer = peer
            let continuation = outcome.continuation
            try OwnedThread.startWaiting("test-pump") {
                var pump = PacketPump(stream: stream, packets: packets, packetLimit: packetLimit)
                pump.lingering = .milliseconds(200)
                continuation.yield(pump.run(received: received))
                continuation.finish()
            }
        }

        /// How the pump ended.
        func end() async -> PacketPump.Outcome? {
            for await outcome in outcome.stream { return outcome }
            return nil
        }
    }

    @Test(arguments: [(23, 1), (23, 5_000), (512, 100_000), (8192, 1_000_000)])
    func bytesArriveInPacketsOfTheLimit(_ limit: Int, _ byteCount: Int) async throws {
        var random = SeededGenerator(seed: UInt64(byteCount))
        let bytes = random.bytes(byteCount)
        let running = try Running(packetLimit: limit)
        async let sent: Void = Sockets.write(bytes, to: running.user)
        let packets = try await Sockets.packets(from: running.peer, byteCount: byteCount)
        try await sent
        #expect(packets.flatMap(\.self) == bytes)
        #expect(packets.allSatisfy { !$0.isEmpty && $0.count <= limit })
        shutdown(running.user.number, CInt(SHUT_WR))
        #expect(await running.end() == .closedHere)
    }

    @Test func packetsArriveAsBytes() async throws {
        var random = SeededGenerator(seed: 7)
        let packets = (0..<300).map { _ in random.bytes(random.int(1...4096)) }
        let bytes = packets.flatMap(\.self)
        let running = try Running(packetLimit: 512)
        async let sent: Void = Sockets.write(packets, to: running.peer)
        let read = try await Sockets.bytes(from: running.user, byteCount: bytes.count)
        try await sent
        #expect(read == bytes)
    }

    @Test func bothWaysAtOnceWithSlowReaders() async throws {
        var random = SeededGenerator(seed: 11)
        let there = random.bytes(400_000)
        let back = (0..<200).map { _ in random.bytes(2000) }
        let running = try Running(packetLimit: 1000)
        async let first: Void = Sockets.write(there, to: running.user)
        async let second: Void = Sockets.write(back, to: running.peer)
        // Neither is read until both directions are full.
        try await Sockets.untilFull(running.user)
        async let packets = Sockets.packets(from: running.peer, byteCount: there.count)
        async let bytes = Sockets.bytes(from: running.user, byteCount: 400_000)
        #expect(try await packets.flatMap(\.self) == there)
        #expect(try await bytes == back.flatMap(\.self))
        _ = try await (first, second)
    }

    @Test func whatWasTakenBeforeComesFirst() async throws {
        let running = try Running(packetLimit: 100, received: [1, 2, 3])
        try await Sockets.write([[4, 5]], to: running.peer)
        #expect(try await Sockets.bytes(from: running.user, byteCount: 5) == [1, 2, 3, 4, 5])
    }

    @Test func thePeersEndComesAfterItsBytes() async throws {
        var random = SeededGenerator(seed: 13)
        let bytes = random.bytes(50_000)
        let peer: Running = try Running(packetLimit: 100)
        async let sent: Void = Sockets.write(
            stride(from: 0, to: 50_000, by: 1000).map { Array(bytes[$0..<$0 + 1000]) }, to: peer.peer)
        let first = try await Sockets.bytes(from: peer.user, byteCount: 10_000)
        try await sent
        shutdown(peer.peer.number, CInt(SHUT_RDWR))
        let rest = try await Sockets.bytes(from: peer.user, byteCount: nil)
        #expect(first + rest == bytes)
        #expect(await peer.end() == .closedThere)
    }

    @Test func aUserThatGoesAwayEndsTheLink() async throws {
        let running = try Running(packetLimit: 100)
        try await Sockets.write([[1]], to: running.peer)
        shutdown(running.user.number, CInt(SHUT_RDWR))
        #expect(await running.end() == .closedHere)
        #expect(try await Sockets.packets(from: running.peer, byteCount: nil).isEmpty)
    }

    /// It reads nothing, as one that gives no credits; what waits for it is lost with the link.
    @Test func aPeerThatTakesNothingKeepsNoLink() async throws {
        let running = try Running(packetLimit: 100)
        async let sent: Void? = try? Sockets.write([UInt8](repeating: 1, count: 2_000_000), to: running.user)
        try await Sockets.untilFull(running.user)
        shutdown(running.user.number, CInt(SHUT_RDWR))
        #expect(await running.end() == .closedHere)
        _ = await sent
    }

    @Test func theStateOfAPump() {
        var state = PumpState()
        #expect(state.streamInterest == .readable && state.packetInterest == .readable)
        state.isSending = true
        #expect(state.streamInterest == [] && state.packetInterest == [.readable, .writable])
        state.isHungUp = true
        #expect(state.streamInterest == nil && state.isClosedHere && !state.isSent)
        state.isStarved = true
        #expect(state.packetInterest == .readable)
        state.isDelivering = true
        #expect(state.streamInterest == .writable && state.packetInterest == nil)
        state.packets = .ended
        #expect(!state.isDelivered && !state.isSent)
        state.isDelivering = false
        #expect(state.isDelivered)
        state.stream = .ended
        #expect(!state.isSent)
        state.isSending = false
        #expect(state.isSent)
    }
}
