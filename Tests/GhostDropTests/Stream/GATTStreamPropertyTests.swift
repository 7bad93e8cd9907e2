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
        var user = SimulatedUser(outgoing: random.bytes(random.int(0...min(20_000, rate * 4))))
        if random.isOne(in: 3) {
            user.readCount = random.int(100...20_000)
            user.readInterval = .milliseconds(random.int(1...100))
        }
        return user
    }

    @Test(arguments: 0..<10) func whateverTheLinkDoesTheBytesArriveInOrder(batch: UInt64) {
        for seed in batch * 30..<(batch + 1) * 30 {
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

    /// The wire's bytes that are not the user's, headers and acknowledgements of both directions and repeats, stay
    /// within a few times what the best possible sender would need; nor does it go on for ever.
    @Test func noLinkMakesItSendWithoutBound() {
        for seed in UInt64(1000)..<1060 {
            var random = SeededGenerator(seed: seed)
            let up = Self.conditions(&random)
            let down = Self.conditions(&random)
            let byteCount = min(8000, up.rate)
            var link = SimulatedLink(
                seed: seed, central: SimulatedUser(outgoing: random.bytes(byteCount)), peripheral: SimulatedUser(),
                toPeripheral: up, toCentral: down, maximumPackets: (100, 100))
            link.run(until: .seconds(3600))
            #expect(link.isComplete(.central), "seed \(seed)")
            #expect(link.linkBytes < 6 * byteCount + 4000, "seed \(seed): \(link.linkBytes) for \(byteCount)")
            #expect(link.now < .seconds(200), "seed \(seed): \(link.now)")
        }
    }

    struct Goodput {
        var loss: Int
        var leastEfficiency: Double
        var leastShareOfIdeal: Double
    }

    /// What gets through, and what it costs, by the share of lost packets (in thousandths). The link's bytes are those
    /// of both directions with ATT's three for each packet; the ideal is the link's rate less headers and losses.
    @Test(arguments: [
        Goodput(loss: 0, leastEfficiency: 0.955, leastShareOfIdeal: 0.96),
        Goodput(loss: 10, leastEfficiency: 0.94, leastShareOfIdeal: 0.95),
        Goodput(loss: 50, leastEfficiency: 0.89, leastShareOfIdeal: 0.93),
        Goodput(loss: 200, leastEfficiency: 0.73, leastShareOfIdeal: 0.85),
    ])
    func goodput(_ expected: Goodput) throws {
        for (maximumPacket, rate, delay, seconds) in [
            (244, 100_000, 20, 10), (510, 200_000, 40, 10), (244, 20_000, 60, 20),
        ] {
            var random = SeededGenerator(seed: 7)
            let data = random.bytes(rate * seconds)
            var conditions = LinkConditions()
            conditions.rate = rate
            conditions.delay = .milliseconds(delay)
            conditions.loss = expected.loss
            var link = SimulatedLink(
                seed: 11, central: SimulatedUser(outgoing: data), peripheral: SimulatedUser(), toPeripheral: conditions,
                toCentral: conditions, maximumPackets: (maximumPacket, maximumPacket))
            link.run(until: .seconds(600), stopWhenRead: true)
            let duration = try #require(link.completedAt[0])
            let isEqual = link.received[1] == data
            #expect(isEqual)
            let payloadShare = Double(maximumPacket - 4) / Double(maximumPacket + 3)
            let ideal = Double(rate) * payloadShare * (1 - Double(expected.loss) / 1000)
            let share = Double(data.count) / (duration / .seconds(1)) / ideal
            let efficiency = Double(data.count) / Double(link.linkBytes)
            #expect(share >= expected.leastShareOfIdeal, "\(maximumPacket) B, \(rate) B/s")
            #expect(efficiency >= expected.leastEfficiency, "\(maximumPacket) B, \(rate) B/s")
        }
    }

    /// Whatever a link would take, and however slowly its other end is read, what is written next waits behind less than
    /// 64 KiB; of these 12 are for the buffers of both ends. What has crossed the link and waits for something before it to
    /// be repeated does not count.
    @Test(arguments: [0, 50, 300], [nil, 1000]) func littleIsUnderWay(loss: Int, readCount: Int?) {
        for (rate, delay) in [(20_000, 400), (100_000, 300), (1_000_000, 200), (1_000_000, 5)] {
            var random = SeededGenerator(seed: 12)
            var conditions = LinkConditions()
            conditions.rate = rate
            conditions.delay = .milliseconds(delay)
            conditions.loss = loss
            conditions.queueLimit = 1000
            var reader = SimulatedUser()
            reader.readCount = readCount
            var link = SimulatedLink(
                seed: 13, central: SimulatedUser(outgoing: random.bytes(min(rate * 3, 400_000))), peripheral: reader,
                toPeripheral: conditions, toCentral: conditions, maximumPackets: (510, 510))
            link.run(until: .seconds(30), stopWhenRead: true)
            #expect(link.received[1].count >= 60_000, "\(rate) B/s, \(delay) ms")
            #expect(link.mostUnconfirmed[0] <= 44 << 10, "\(rate) B/s, \(delay) ms: \(link.mostUnconfirmed[0])")
            #expect(
                link.mostUnderWay[0] <= (loss == 0 ? 52 : 100) << 10,
                "\(rate) B/s, \(delay) ms: \(link.mostUnderWay[0])")
        }
    }

    /// On a link that is slow and quick to answer, no queue is made, not while its rate is being found either: about
    /// three times what fills it once, a dozen packets and what waits unsent.
    @Test(arguments: [(20_000, 20), (20_000, 60), (50_000, 30), (100_000, 30)])
    func theWindowFollowsTheRate(rate: Int, delay: Int) {
        var random = SeededGenerator(seed: 14)
        var conditions = LinkConditions()
        conditions.rate = rate
        conditions.delay = .milliseconds(delay)
        // As bluetoothd does, which takes what comes.
        conditions.queueLimit = 10_000
        var link = SimulatedLink(
            seed: 15, central: SimulatedUser(outgoing: random.bytes(rate * 10)), peripheral: SimulatedUser(),
            toPeripheral: conditions, toCentral: conditions)
        link.run(until: .seconds(60), stopWhenRead: true)
        #expect(link.isComplete(.central))
        let product = rate * (2 * delay + 25) / 1000
        #expect(link.mostUnderWay[0] <= 3 * product + 12 * 244 + 4096, "\(link.mostUnderWay[0]), product \(product)")
    }

    /// A queue on the way that overflows, as bluetoothd's does when its reader is slow, costs little.
    @Test func aShortQueueThatDropsDoesNotCollapse() throws {
        var random = SeededGenerator(seed: 3)
        let data = random.bytes(1_000_000)
        var conditions = LinkConditions()
        conditions.queueLimit = 8
        conditions.dropsWhenFull = true
        var link = SimulatedLink(
            seed: 5, central: SimulatedUser(outgoing: data), peripheral: SimulatedUser(), toPeripheral: conditions,
            toCentral: conditions)
        link.run(until: .seconds(100), stopWhenRead: true)
        let duration = try #require(link.completedAt[0])
        #expect(Double(data.count) / (duration / .seconds(1)) >= 0.85 * 100_000)
        #expect(link.streams[0].statistics.repeatedPackets < link.streams[0].statistics.sentPackets / 5)
    }

    /// Packets that only overtake each other are not sent again: neither those that are late, nor, once one was, the
    /// others for the acknowledgement of its first copy.
    @Test func reorderingIsNotTakenForLoss() {
        var random = SeededGenerator(seed: 9)
        let data = random.bytes(600_000)
        var conditions = LinkConditions()
        conditions.jitter = .milliseconds(60)
        conditions.queueLimit = 1000
        var link = SimulatedLink(
            seed: 8, central: SimulatedUser(outgoing: data), peripheral: SimulatedUser(), toPeripheral: conditions,
            toCentral: conditions)
        link.run(until: .seconds(60), stopWhenRead: true)
        #expect(link.isComplete(.central))
        #expect(link.streams[0].statistics.repeatedPackets < link.streams[0].statistics.sentPackets / 50)
    }

    /// The link stands still for three seconds, many times the timer, and then delivers everything: nothing was sent
    /// twice meanwhile but inquiries.
    @Test func aStandstillIsNotFilledWithCopies() {
        var random = SeededGenerator(seed: 4)
        let data = random.bytes(300_000)
        var conditions = LinkConditions()
        conditions.standstill = .milliseconds(1000) ..< .milliseconds(4000)
        var link = SimulatedLink(
            seed: 6, central: SimulatedUser(outgoing: data), peripheral: SimulatedUser(), toPeripheral: conditions,
            toCentral: LinkConditions())
        link.run(until: .seconds(60), stopWhenRead: true)
        #expect(link.isComplete(.central))
        #expect(link.streams[0].statistics.repeatedPackets == 0)
        #expect(link.streams[1].statistics.duplicatePackets == 0)
        #expect(link.streams[0].statistics.inquiries > 0)
    }
}
