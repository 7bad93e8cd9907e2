import GhostDrop
import SyncTestKit
import Testing

@Suite struct GATTStreamTests {
    /// Two streams whose packets are handed over at once.
    struct Pair {
        var central: GATTStream
        var peripheral: GATTStream
        var now = Duration.zero

        init(configuration: GATTStream.Configuration = .init(), tokens: (UInt32, UInt32) = (1, 2)) {
            central = GATTStream(role: .central, maximumPacket: 100, token: tokens.0, configuration: configuration)
            peripheral = GATTStream(
                role: .peripheral, maximumPacket: 100, token: tokens.1, configuration: configuration)
        }

        /// Hands over until neither has more to say; the packets that the central sent.
        @discardableResult mutating func exchange() -> [[UInt8]] {
            var sent: [[UInt8]] = []
            var isIdle = false
            while !isIdle {
                isIdle = true
                while let packet = central.nextPacket(at: now) {
                    sent.append(packet)
                    peripheral.receive(packet, at: now)
                    isIdle = false
                }
                while let packet = peripheral.nextPacket(at: now) {
                    central.receive(packet, at: now)
                    isIdle = false
                }
            }
            return sent
        }

        /// Lets time pass up to the next deadline of either, `count` times.
        mutating func run(_ count: Int = 50) {
            for _ in 0..<count {
                exchange()
                let deadlines = [central.nextDeadline, peripheral.nextDeadline].compactMap { $0 }
                guard let next = deadlines.min() else { return }
                now = max(now, next)
            }
            exchange()
        }
    }

    @Test func carriesBytesBothWaysAndEnds() {
        var random = SeededGenerator(seed: 1)
        let (up, down) = (random.bytes(200_000), random.bytes(50_000))
        var link = SimulatedLink(
            seed: 1, central: SimulatedUser(outgoing: up), peripheral: SimulatedUser(outgoing: down),
            toPeripheral: LinkConditions(), toCentral: LinkConditions())
        link.run(until: .seconds(60))
        #expect(link.received[1] == up)
        #expect(link.received[0] == down)
        #expect(link.streams.map(\.state) == [.closed(.finished), .closed(.finished)])
        #expect(link.streams.allSatisfy { $0.statistics.repeatedPackets == 0 && $0.statistics.ignoredPackets == 0 })
    }

    @Test func thePacketsAreThoseOfTheDocument() {
        var pair = Pair(tokens: (0x0102_0304, 0x0506_0708))
        #expect(pair.central.write(Array("hello".utf8)) == 5)
        let packets = pair.exchange()
        #expect(packets.map { $0.map { String($0, radix: 16) }.joined(separator: " ") } == GATTStreamTests.documented)
        #expect(pair.peripheral.read(maximum: 100) == Array("hello".utf8))
        // An opening is no packet of GhostDrop v1, which begins with "GD".
        #expect(packets.first?.first != UInt8(ascii: "G"))
    }

    /// Open, acknowledgement of Opened with room for 8 × 256 packets, data (docs/bluetooth-wire.md, "Example").
    private static let documented = [
        "81 1 0 64 0 60 1 2 3 4 0 0 0 0 86 1e f 11", "40 0 8c 4 2 0 0", "20 0 2a 8a 68 65 6c 6c 6f",
    ]

    @Test func theFirstPacketMayArriveDamaged() {
        for seed in UInt64(0)..<50 {
            var conditions = LinkConditions()
            conditions.corruptedFirst = 1
            var link = SimulatedLink(
                seed: seed, central: SimulatedUser(outgoing: Array("first".utf8)),
                peripheral: SimulatedUser(outgoing: Array("second".utf8)), toPeripheral: conditions,
                toCentral: conditions)
            link.run(until: .seconds(60))
            #expect(link.received == [Array("second".utf8), Array("first".utf8)])
            // The second copy follows after 50 ms.
            #expect(link.completedAt.allSatisfy { $0.map { $0 < .milliseconds(700) } ?? false })
        }
    }

    @Test func aPeripheralSaysNothingBeforeItIsOpened() {
        var pair = Pair()
        #expect(pair.peripheral.write([1, 2, 3]) == 3)
        #expect(pair.peripheral.nextPacket(at: .seconds(100)) == nil)
        #expect(pair.peripheral.nextDeadline == nil)
        #expect(pair.peripheral.state == .opening)
        pair.run()
        #expect(pair.central.read(maximum: 10) == [1, 2, 3])
    }

    @Test func anEndIsSeenAfterTheLastByteAndTheOtherSideGoesOn() {
        var pair = Pair()
        #expect(pair.central.write([1, 2, 3]) == 3)
        pair.central.finish()
        #expect(pair.central.write([4]) == 0)
        pair.run(3)
        #expect(pair.peripheral.state == .peerFinished)
        #expect(pair.central.state == .open)
        #expect(pair.peripheral.read(maximum: 10) == [1, 2, 3])
        #expect(pair.peripheral.write([5, 6]) == 2)
        pair.peripheral.finish()
        pair.exchange()
        #expect(pair.central.read(maximum: 10) == [5, 6])
        #expect(pair.central.state == .finished)
        pair.run()
        #expect(pair.central.state == .closed(.finished))
        #expect(pair.peripheral.state == .closed(.finished))
    }

    @Test func aResetIsToldWithItsCode() {
        var pair = Pair()
        pair.run(3)
        pair.central.reset(code: GATTStream.ResetCode.cancelled)
        #expect(pair.central.state == .closed(.reset))
        pair.run(3)
        #expect(pair.peripheral.state == .closed(.peerReset(GATTStream.ResetCode.cancelled)))
    }

    @Test func aReaderThatDoesNotReadStopsTheWriter() {
        var configuration = GATTStream.Configuration()
        configuration.receiveLimit = 5000
        var pair = Pair(configuration: configuration)
        var written = 0
        for _ in 0..<200 {
            written += pair.central.write([UInt8](repeating: 7, count: 1000))
            pair.run(5)
        }
        #expect(pair.peripheral.readableCount <= 5000)
        #expect(pair.peripheral.readableCount > 3000)
        // What is sent and what waits, and no more; the peer lives, so the connection does.
        #expect(written <= 5000 + configuration.unsentLimit)
        #expect(pair.central.state == .open)
        var read = 0
        for _ in 0..<200 {
            read += pair.peripheral.read(maximum: 400).count
            pair.run(5)
        }
        #expect(read == written)
    }

    /// Small messages say nothing about the rate that the link has.
    @Test func aLargerMessageIsNotSpreadByTheRateOfSmallOnes() {
        var pair = Pair()
        pair.exchange()
        for _ in 0..<20 {
            #expect(pair.central.write([1, 2, 3]) == 3)
            while let packet = pair.central.nextPacket(at: pair.now) { pair.peripheral.receive(packet, at: pair.now) }
            pair.now += .milliseconds(40)
            while let packet = pair.peripheral.nextPacket(at: pair.now) { pair.central.receive(packet, at: pair.now) }
        }
        #expect(pair.central.write([UInt8](repeating: 4, count: 960)) == 960)
        var count = 0
        while pair.central.nextPacket(at: pair.now) != nil { count += 1 }
        #expect(count == 10)
    }

    @Test func aPeerThatFallsSilentIsGivenUp() {
        var pair = Pair()
        pair.run(3)
        #expect(pair.central.write([1]) == 1)
        while let deadline = pair.central.nextDeadline, pair.now < .seconds(100) {
            pair.now = max(pair.now, deadline)
            while pair.central.nextPacket(at: pair.now) != nil {}
        }
        #expect(pair.central.state == .closed(.timedOut))
        #expect(pair.now > .seconds(29) && pair.now < .seconds(35))
        #expect(pair.central.statistics.inquiries < 40)
    }

    @Test func anOpeningThatNobodyAnswersIsGivenUp() {
        var central = Pair().central
        var now = Duration.zero
        var count = 0
        while central.state == .opening, now < .seconds(100) {
            while central.nextPacket(at: now) != nil { count += 1 }
            guard let deadline = central.nextDeadline else { break }
            now = deadline
        }
        #expect(central.state == .closed(.timedOut))
        #expect(now >= .seconds(20) && now < .seconds(22))
        #expect(count < 30)
    }

    @Test func aCentralThatForgotItsConnectionReplacesIt() {
        var pair = Pair()
        pair.run(3)
        #expect(pair.peripheral.state == .open)
        // The same central once more: the old stream notices; a fresh one takes over.
        pair.central = GATTStream(role: .central, maximumPacket: 100, token: 77)
        pair.run(8)
        #expect(pair.peripheral.state == .closed(.replaced))
        pair.peripheral = GATTStream(role: .peripheral, maximumPacket: 100, token: 78)
        pair.run(8)
        #expect(pair.central.state == .open)
        #expect(pair.peripheral.state == .open)
    }

    @Test func aLateOpeningOfAnEarlierConnectionChangesNothing() throws {
        var earlier = GATTStream(role: .central, maximumPacket: 100, token: 99)
        let packet = earlier.nextPacket(at: .zero)
        let stray = try #require(packet)
        var pair = Pair()
        pair.run(3)
        for _ in 0..<10 {
            pair.peripheral.receive(stray, at: pair.now)
            pair.exchange()
            pair.now += .milliseconds(400)
        }
        #expect(pair.peripheral.state == .open)
    }

    @Test func anotherVersionIsRefused() throws {
        var pair = Pair()
        let opening = pair.central.nextPacket(at: .zero)
        var packet = try #require(opening).dropLast(4)
        packet[1] = 9
        packet += Self.crc32(packet)
        pair.peripheral.receive(packet, at: .zero)
        let answer = pair.peripheral.nextPacket(at: .zero)
        pair.central.receive(try #require(answer), at: .zero)
        #expect(pair.central.state == .closed(.otherVersion))
        #expect(pair.peripheral.state == .opening)
    }

    private static func crc32(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var value = UInt32.max
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
        }
        return withUnsafeBytes(of: (~value).bigEndian) { Array($0) }
    }

    /// Packets of many laps of the sequence number ago carry its bits and are not taken.
    @Test func anOldDuplicateIsNeverTakenForNew() throws {
        var pair = Pair()
        pair.run(3)
        var kept: [(number: Int, packet: [UInt8])] = []
        var number = 0
        var expected = 0
        while number < 20_000 {
            while pair.central.writableCount >= 96 {
                #expect(pair.central.write((0..<96).map { Self.byte(number, $0) }) == 96)
                number += 1
            }
            for packet in pair.exchange() where packet.count == 100 && kept.count < 40 { kept.append((number, packet)) }
            let read = pair.peripheral.read(maximum: .max)
            let isRight = read.enumerated().allSatisfy { index, byte in
                byte == Self.byte((expected + index) / 96, (expected + index) % 96)
            }
            try #require(isRight)
            expected += read.count
            // A lap has 8192 numbers: sooner or later each of these has the number that is due.
            let before = pair.peripheral.readableCount
            for (_, packet) in kept { pair.peripheral.receive(packet, at: pair.now) }
            #expect(pair.peripheral.readableCount == before)
            if pair.central.writableCount < 96, let deadline = pair.central.nextDeadline {
                pair.now = max(pair.now, deadline)
            }
        }
        #expect(expected > 19_000 * 96)
    }

    /// Differs from lap to lap.
    private static func byte(_ number: Int, _ offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: number + number / 8192 * 101 + offset)
    }

    @Test func garbageNeverTraps() {
        for seed in UInt64(0)..<300 {
            var random = SeededGenerator(seed: seed)
            var pair = Pair()
            if !random.isOne(in: 4) { pair.run(random.int(1...4)) }
            var seen: [[UInt8]] = [[1, 2, 3, 4]]
            for _ in 0..<60 {
                _ = pair.central.write(random.bytes(random.int(0...300)))
                _ = pair.peripheral.write(random.bytes(random.int(0...300)))
                seen += pair.exchange().prefix(3)
                var packet = random.isOne(in: 3) ? random.bytes(random.int(0...600)) : random.pick(seen)
                if !packet.isEmpty {
                    for _ in 0..<random.int(0...3) {
                        packet[random.int(0...packet.count - 1)] = UInt8(random.int(0...255))
                    }
                    if random.isOne(in: 3) { packet.removeLast(random.int(0...packet.count)) }
                }
                if random.isOne(in: 2) {
                    pair.central.receive(packet, at: pair.now)
                } else {
                    pair.peripheral.receive(packet, at: pair.now)
                }
                // Time may stand still, jump, or even be said to go back.
                pair.now += .milliseconds(random.pick([0, 1, 50, 3000, -20]))
                _ = pair.peripheral.read(maximum: random.int(-1...500))
            }
            #expect(pair.central.statistics.sentPackets < 5000)
            #expect(pair.peripheral.statistics.sentPackets < 5000)
        }
    }
}
