import GhostDrop
import SyncTestKit
import Testing

@Suite struct GATTStreamPropertyTests {
    /// A link with every fault at once, each of a random degree.
    private static func conditions(_ random: inout SeededGenerator) -> LinkConditions {
        var conditions = LinkConditions()
        conditions.rate = random.pick([3_000, 20_000, 100_000, 1_000_000])
        conditions.delay = .milliseconds(random.int(0...200))
        conditions.jitter = .microseconds(random.isOne(in: 3) ? 0 : random.int(0...100_000))
        conditions.loss = random.isOne(in: 3) ? 0 : random.int(0...300)
        conditions.duplication = random.isOne(in: 2) ? 0 : random.int(0...200)
        conditions.truncation = random.isOne(in: 2) ? 0 : random.int(0...50)
        conditions.corruption = random.isOne(in: 2) ? 0 : random.int(0...50)
        conditions.corruptedFirst = random.int(0...2)
        conditions.queueLimit = random.int(4...64)
        conditions.dropsWhenFull = random.isOne(in: 3)
        if random.isOne(in: 5) {
            let start = random.int(0...4000)
            conditions.outage = .milliseconds(start) ..< .milliseconds(start + random.int(1...4000))
        }
        return conditions
    }

    private static func user(_ random: inout SeededGenerator, rate: Int) -> SimulatedUser {
        var user = SimulatedUser(outgoing: random.bytes(random.int(0...min(60_000, rate * 4))))
        if random.isOne(in: 3) {
            user.readCount = random.int(100...20_000)
            user.readInterval = .milliseconds(random.int(1...100))
        }
        return user
    }

    @Test(arguments: 0..<10) func whateverTheLinkDoesTheBytesArriveInOrder(batch: UInt64) {
        for seed in batch * 40..<(batch + 1) * 40 {
            var random = SeededGenerator(seed: seed)
            let up = Self.conditions(&random)
            let down = Self.conditions(&random)
            let central = Self.user(&random, rate: up.rate)
            let peripheral = Self.user(&random, rate: down.rate)
            var configuration = GATTStream.Configuration()
            configuration.receiveLimit = random.pick([1000, 20_000, 256 << 10])
            configuration.silenceLimit = .seconds(60)
            configuration.openingLimit = .seconds(60)
            var link = SimulatedLink(
                seed: seed, central: central, peripheral: peripheral, toPeripheral: up, toCentral: down,
                maximumPackets: (random.pick([20, 23, 100, 244, 510]), random.pick([20, 61, 244, 512])),
                configuration: configuration)
            link.run(until: .seconds(3600))
            #expect(link.isComplete(.central) && link.isComplete(.peripheral), "seed \(seed)")
            for (received, sent) in zip(link.received, [peripheral.outgoing, central.outgoing]) {
                let isPrefix = sent.starts(with: received)
                #expect(isPrefix, "seed \(seed)")
            }
            for stream in link.streams {
                // The last acknowledgements may all get lost; then one side cannot know that its end has arrived.
                let hasEnded = [.closed(.finished), .closed(.timedOut)].contains(stream.state)
                #expect(hasEnded, "seed \(seed): \(stream.state)")
            }
            #expect(link.streams.contains { $0.state == .closed(.finished) }, "seed \(seed)")
        }
    }

    /// What gets through, and what it costs, by the share of lost packets.
    @Test(arguments: [(0, 0.93, 0.97), (10, 0.9, 0.95), (50, 0.87, 0.9), (200, 0.7, 0.75)])
    func goodputUnderLoss(loss: Int, leastEfficiency: Double, leastShareOfIdeal: Double) throws {
        let byteCount = 2_000_000
        for (maximumPacket, rate, delay) in [(244, 100_000, 20), (510, 500_000, 40), (244, 30_000, 60)] {
            var random = SeededGenerator(seed: 7)
            let data = random.bytes(byteCount)
            var conditions = LinkConditions()
            conditions.rate = rate
            conditions.delay = .milliseconds(delay)
            conditions.loss = loss
            var link = SimulatedLink(
                seed: 11, central: SimulatedUser(outgoing: data), peripheral: SimulatedUser(), toPeripheral: conditions,
                toCentral: conditions, maximumPackets: (maximumPacket, maximumPacket))
            link.run(until: .seconds(600), stopWhenRead: true)
            let duration = try #require(link.completedAt[0])
            #expect(link.received[1] == data)
            let payloadShare = Double(maximumPacket - 4) / Double(maximumPacket + 3)
            let ideal = Double(rate) * payloadShare * (1 - Double(loss) / 1000)
            let goodput = Double(byteCount) / (duration / .seconds(1))
            let efficiency = Double(byteCount) / Double(link.linkBytes)
            print(
                "GATT stream, \(maximumPacket) B packets, \(rate) B/s, \(delay) ms, loss \(loss) ‰:",
                "goodput \(Int(goodput)) B/s, of the ideal \(goodput / ideal), of the link's bytes \(efficiency),",
                "repeated \(link.streams[0].statistics.repeatedPackets), inquiries \(link.streams[0].statistics.inquiries)"
            )
            #expect(goodput >= leastShareOfIdeal * ideal)
            #expect(efficiency >= leastEfficiency * (1 - Double(loss) / 1000))
        }
    }
}
