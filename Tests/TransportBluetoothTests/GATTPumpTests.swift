import GhostDrop
import Glibc
import MessageBus
import SyncTestKit
import Testing

import Threads
@testable import TransportBluetooth

@Suite(.timeLimit(.minutes(1))) struct GATTPumpTests {
    /// bluetoothd says the MTU as any number on the bus.
    @Test(
        arguments: [(.min, 20), (-1, 20), (0, 20), (23, 20), (24, 21), (247, 244), (513, 510), (517, 510), (.max, 510)]
            as [(Int, Int)])
    func aValueIsAsLongAsTheLinkAndBluetoothdTake(mtu: Int, limit: Int) {
        #expect(GATTPump.packetLimit(mtu: mtu) == limit)
    }

    /// Two pumps, packet sockets between them, and the users' ends of both streams.
    private struct Pair {
        var central: Descriptor
        var peripheral: Descriptor
        var outcomes: [AsyncStream<PacketPump.Outcome>] = []
        /// The radio: closing both ends is losing the link.
        var radio: [Descriptor] = []

        init(dropEvery: Int = 0) throws {
            let (there, arriving) = try Descriptor.pair(.packets)
            let (back, returning) = try Descriptor.pair(.packets)
            let (centralStream, central) = try Descriptor.pair(.stream)
            let (peripheralStream, peripheral) = try Descriptor.pair(.stream)
            self.central = central
            self.peripheral = peripheral
            radio = [there, arriving, back, returning]
            let inbox = try PacketInbox()
            // What bluetoothd does: values of the central come as calls, some of them never.
            try OwnedThread.startWaiting("test-radio") {
                var number = 0
                var buffer = [UInt8](repeating: 0, count: 1024)
                while true {
                    var poll = Poll()
                    poll.add(arriving.number, .readable)
                    _ = poll.wait(nil)
                    let count = recv(arriving.number, &buffer, buffer.count, 0)
                    if count > 0 {
                        number += 1
                        if dropEvery == 0 || number % dropEvery != 0 { inbox.put(Array(buffer[..<count])) }
                    } else if count == 0 || errno != EAGAIN {
                        return inbox.close()
                    }
                }
            }
            outcomes.append(
                try Self.start(
                    GATTPump(inlet: .socket(back), outlet: .socket(there)), .central, 0x1111, centralStream))
            outcomes.append(
                try Self.start(
                    GATTPump(inlet: .inbox(inbox), outlet: .socket(returning)), .peripheral, 0x2222, peripheralStream))
        }

        private static func start(
            _ pump: GATTPump, _ role: GATTStream.Role, _ token: UInt32, _ stream: Descriptor
        ) throws -> AsyncStream<PacketPump.Outcome> {
            let (outcomes, continuation) = AsyncStream.makeStream(of: PacketPump.Outcome.self)
            try OwnedThread.startWaiting("test-gatt") {
                let machine = GATTStream(role: role, maximumPacket: GATTPump.packetLimit(mtu: 517), token: token)
                continuation.yield(pump.run(machine) { stream })
                continuation.finish()
            }
            return outcomes
        }

        func outcome(_ index: Int) async -> PacketPump.Outcome? {
            for await outcome in outcomes[index] { return outcome }
            return nil
        }
    }

    @Test(arguments: [0, 7])
    func bytesBothWays(_ dropEvery: Int) async throws {
        let pair = try Pair(dropEvery: dropEvery)
        var random = SeededGenerator(seed: 3)
        let there = random.bytes(120_000)
        let back = random.bytes(90_000)
        async let first: Void = Sockets.write(there, to: pair.central)
        async let second: Void = Sockets.write(back, to: pair.peripheral)
        async let arrived = Sockets.bytes(from: pair.peripheral, byteCount: there.count)
        async let returned = Sockets.bytes(from: pair.central, byteCount: back.count)
        #expect(try await arrived == there)
        #expect(try await returned == back)
        _ = try await (first, second)
    }

    @Test func theEndComesAfterTheBytes() async throws {
        let pair = try Pair()
        var random = SeededGenerator(seed: 5)
        let bytes = random.bytes(30_000)
        async let sent: Void = Sockets.write(bytes, to: pair.central)
        try await sent
        shutdown(pair.central.number, CInt(SHUT_RDWR))
        #expect(try await Sockets.bytes(from: pair.peripheral, byteCount: nil) == bytes)
        shutdown(pair.peripheral.number, CInt(SHUT_RDWR))
        #expect(await pair.outcome(0) == .closedHere)
        #expect(await pair.outcome(1) == .closedHere)
    }

    @Test func aLostLinkEndsBothSides() async throws {
        let pair = try Pair()
        try await Sockets.write([1, 2, 3], to: pair.central)
        #expect(try await Sockets.bytes(from: pair.peripheral, byteCount: 3) == [1, 2, 3])
        for socket in pair.radio { shutdown(socket.number, CInt(SHUT_RDWR)) }
        for index in 0...1 {
            guard case .broken = await pair.outcome(index) else {
                Issue.record("side \(index) has not noticed")
                continue
            }
        }
    }

    @Test func aPeerThatNeverOpensIsGivenUp() async throws {
        let (socket, peer) = try Descriptor.pair(.packets)
        let inbox = try PacketInbox()
        inbox.put([0x81, 1, 2])
        let (outcomes, continuation) = AsyncStream.makeStream(of: PacketPump.Outcome.self)
        try OwnedThread.startWaiting("test-gatt") {
            var pump = GATTPump(inlet: .inbox(inbox), outlet: .socket(socket))
            pump.openingLimit = .milliseconds(20)
            continuation.yield(pump.run(GATTStream(role: .peripheral, maximumPacket: 100, token: 1)) { nil })
        }
        var outcome = outcomes.makeAsyncIterator()
        #expect(await outcome.next() == .broken(SystemError("GATT stream", ETIMEDOUT)))
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: [(0, 20), (23, 20), (100, 97), (517, 510), (1000, 510)])
    func longestValue(_ mtu: Int, _ limit: Int) {
        #expect(GATTPump.packetLimit(mtu: mtu) == limit)
    }
}
