import NIOCore
import SyncTestKit
import Testing

@testable import TransportVirtual

/// The link layer in virtual time.
@Suite struct VirtualLinkTests {
    private func frame(_ byteCount: Int, _ fill: UInt8 = 0) -> LinkFrame {
        LinkFrame(
            channel: LinkFrame.firstDynamicChannel,
            payload: ByteBuffer(repeating: fill, count: byteCount - LinkFrame.headerByteCount))
    }

    /// Runs until nothing is due, and gives what arrived.
    private func run(_ link: inout VirtualLink, until end: Duration = .seconds(600)) -> [VirtualLink.Arrival] {
        var arrivals: [VirtualLink.Arrival] = []
        while let deadline = link.nextDeadline, deadline <= end { arrivals += link.advance(to: deadline) }
        return arrivals
    }

    @Test func anIdleLinkHasNothingToDo() {
        var link = VirtualLink(RadioConditions(), seed: 1, start: .zero)
        #expect(link.nextDeadline == nil)
        #expect(link.advance(to: .seconds(100)).isEmpty)
        #expect(link.end == nil)
    }

    /// 251 bytes at 1 Mbit/s: 2,088 µs, 150 µs, an empty packet of 80 µs, 150 µs; the next event is at 15 ms.
    @Test(arguments: [
        (RadioConditions.PHY.oneMegabit, 1, 17_468), (.oneMegabit, 6, 29_808), (.oneMegabit, 7, 32_468),
        (.twoMegabit, 1, 16_392), (.twoMegabit, 10, 28_920), (.twoMegabit, 11, 31_392),
    ])
    func packetsTakeTheirTime(phy: RadioConditions.PHY, packets: Int, microseconds: Int) {
        var conditions = RadioConditions()
        conditions.phy = phy
        var link = VirtualLink(conditions, seed: 1, start: .zero)
        for _ in 0..<packets { link.send(frame(251), from: .central, at: .milliseconds(1)) }
        let arrivals = run(&link)
        #expect(arrivals.count == packets)
        #expect(arrivals.last?.time == .microseconds(microseconds))
        #expect(arrivals.allSatisfy { $0.side == .peripheral })
        #expect(link.nextDeadline == nil)
    }

    @Test func aPhonesLimitOfPacketsHolds() {
        var conditions = RadioConditions()
        conditions.connectionInterval = .milliseconds(30)
        conditions.packetsPerEvent = 4
        var link = VirtualLink(conditions, seed: 1, start: .zero)
        for _ in 0..<9 { link.send(frame(251), from: .peripheral, at: .zero) }
        let events = run(&link).map { $0.time.components.attoseconds / 1_000_000_000_000_000 / 30 }
        #expect(events == [0, 0, 0, 0, 1, 1, 1, 1, 2])
    }

    @Test func bothDirectionsShareTheAir() {
        var link = VirtualLink(RadioConditions(), seed: 1, start: .zero)
        for side in VirtualLink.Side.allCases { for _ in 0..<3 { link.send(frame(251), from: side, at: .zero) } }
        let arrivals = run(&link)
        // Three exchanges of two full packets.
        #expect(arrivals.last?.time == .microseconds(3 * 2 * (2_088 + 150)))
        // And one more for the central to say that it has the peripheral's last packet.
        #expect(link.statistics(of: .central).emptyPackets == 1)
    }

    @Test(arguments: [0.01, 0.05, 0.2, 0.6])
    func lossCostsTimeAndNoFrame(loss: Double) {
        var conditions = RadioConditions()
        conditions.loss = loss
        for seed in UInt64(0)..<20 {
            var link = VirtualLink(conditions, seed: seed, start: .zero)
            var generator = SeededGenerator(seed: seed)
            var sent: [[LinkFrame]] = [[], []]
            for number in 0..<60 {
                let side = generator.pick(VirtualLink.Side.allCases)
                let frame = frame(generator.int(5...900), UInt8(number))
                sent[side.rawValue].append(frame)
                link.send(frame, from: side, at: .milliseconds(number))
            }
            let arrivals = run(&link)
            for side in VirtualLink.Side.allCases {
                #expect(arrivals.filter { $0.side == side.other }.map(\.frame) == sent[side.rawValue])
                let statistics = link.statistics(of: side)
                #expect(statistics.frameBytes == sent[side.rawValue].reduce(0) { $0 + $1.byteCount })
                #expect(statistics.packets > statistics.repeatedPackets)
            }
            #expect(arrivals.map(\.time) == arrivals.map(\.time).sorted())
            #expect(link.end == nil)
        }
    }

    /// A packet is sent again if it or its acknowledgement was lost: with a share of p lost, 1/(1-p)² times on average.
    @Test func lossRepeatsAsManyPacketsAsItShould() {
        var conditions = RadioConditions()
        conditions.loss = 0.2
        var link = VirtualLink(conditions, seed: 7, start: .zero)
        for _ in 0..<4_000 { link.send(frame(251), from: .central, at: .zero) }
        #expect(run(&link, until: .seconds(3600)).count == 4_000)
        let sent = Double(link.statistics(of: .central).packets)
        #expect(abs(sent / 4_000 - 1 / (0.8 * 0.8)) < 0.05)
    }

    @Test func nothingHeardForTheSupervisionTimeoutEndsIt() {
        var conditions = RadioConditions()
        conditions.supervisionTimeout = .seconds(2)
        var link = VirtualLink(conditions, seed: 1, start: .zero)
        link.setInRange(false, at: .seconds(1))
        link.send(frame(100), from: .central, at: .seconds(1))
        #expect(run(&link).isEmpty)
        #expect(link.end == .supervisionTimeout)
        // Also with nothing to send, and not if it comes back in time.
        var idle = VirtualLink(conditions, seed: 1, start: .zero)
        idle.setInRange(false, at: .seconds(1))
        #expect(idle.nextDeadline == .seconds(3))
        idle.setInRange(true, at: .milliseconds(2_999))
        #expect(idle.nextDeadline == nil)
        idle.send(frame(100), from: .peripheral, at: .seconds(4))
        #expect(run(&idle).count == 1)
    }

    @Test func aDeafRadioEndsTheConnection() {
        var conditions = RadioConditions()
        conditions.loss = 1
        var link = VirtualLink(conditions, seed: 1, start: .zero)
        link.send(frame(100), from: .central, at: .seconds(50))
        #expect(run(&link).isEmpty)
        #expect(link.end == .supervisionTimeout)
    }

    @Test(arguments: [1_000, 10_000])
    func breaksAfterSoManyBytes(limit: Int) {
        var conditions = RadioConditions()
        conditions.breakAfter = limit
        var link = VirtualLink(conditions, seed: 1, start: .zero)
        for _ in 0..<100 { link.send(frame(251), from: .central, at: .zero) }
        let arrived = run(&link).count * 251
        #expect(link.end == .cut)
        #expect(link.statistics(of: .central).frameBytes >= limit)
        #expect(arrived <= limit + 251)
        link.send(frame(251), from: .central, at: .seconds(60))
        #expect(link.nextDeadline == nil)
    }

    @Test func aSmallerDelayLetsNothingOvertake() {
        var conditions = RadioConditions()
        conditions.delay = .milliseconds(500)
        var link = VirtualLink(conditions, seed: 1, start: .zero)
        link.send(frame(20, 1), from: .central, at: .zero)
        #expect(link.advance(to: .milliseconds(100)).isEmpty)
        conditions.delay = .zero
        link.change(conditions, at: .milliseconds(100))
        link.send(frame(20, 2), from: .central, at: .milliseconds(100))
        let arrivals = run(&link)
        #expect(arrivals.map(\.frame) == [frame(20, 1), frame(20, 2)])
        #expect(arrivals.allSatisfy { $0.time > .milliseconds(500) })
    }

    @Test func hostsDropReorderAndDamageDatagramsOnly() {
        var conditions = RadioConditions()
        conditions.datagramLoss = 0.3
        conditions.datagramReordering = 0.3
        conditions.corruptsFirstWrite = true
        var link = VirtualLink(conditions, seed: 5, start: .zero)
        for number in 0..<500 {
            var value = ByteBuffer(integer: LinkFrame.writeCommand)
            value.writeInteger(UInt32(number))
            link.send(LinkFrame(channel: LinkFrame.attributeChannel, payload: value), from: .central, at: .zero)
            link.send(frame(20, UInt8(number % 256)), from: .peripheral, at: .zero)
        }
        let arrivals = run(&link)
        let numbers = arrivals.filter { $0.side == .peripheral }.compactMap {
            $0.frame.payload.getInteger(at: $0.frame.payload.readerIndex + 1, as: UInt32.self)
        }
        let statistics = link.statistics(of: .central)
        #expect(numbers.count + statistics.droppedDatagrams == 500)
        #expect((100...200).contains(statistics.droppedDatagrams))
        #expect(numbers != numbers.sorted())
        #expect(Set(numbers).count == numbers.count)
        let others = arrivals.filter { $0.side == .central }.map(\.frame)
        #expect(others == (0..<500).map { frame(20, UInt8($0 % 256)) })
    }

    /// What went wrong goes wrong again.
    @Test func theSameSeedIsTheSameLink() {
        func arrivals(seed: UInt64) -> [VirtualLink.Arrival] {
            var conditions = RadioConditions()
            conditions.loss = 0.3
            var link = VirtualLink(conditions, seed: seed, start: .zero)
            for number in 0..<50 { link.send(frame(300, UInt8(number)), from: .central, at: .zero) }
            return run(&link)
        }
        #expect(arrivals(seed: 3) == arrivals(seed: 3))
        #expect(arrivals(seed: 3) != arrivals(seed: 4))
    }
}
