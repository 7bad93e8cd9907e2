import NIOCore
import SyncTestKit
import Testing

@testable import TransportVirtual

/// Streams over the link in virtual time: what is written at one side comes out at the other.
@Suite struct VirtualConnectionTests {
    /// The modes that carry a stream.
    private static let streams: [VirtualConnection.Mode] = [.l2cap, .gatt]

    /// Both directions of one connection, with what was written and what came out.
    private struct Run {
        var connection: VirtualConnection
        var now = Duration.zero
        var unwritten: [ByteBuffer]
        var received = [ByteBuffer(), ByteBuffer()]
        /// Most bytes that a side takes each time.
        var appetite = Int.max
        var closesWhenWritten = true
        private var hasFinished = [false, false]

        init(_ mode: VirtualConnection.Mode, _ conditions: RadioConditions, seed: UInt64, bytes: [ByteBuffer]) {
            connection = VirtualConnection(mode, conditions, seed: seed, start: .zero)
            unwritten = bytes
        }

        mutating func feed() {
            for side in VirtualLink.Side.allCases {
                let index = side.rawValue
                while case let count = min(connection.room(at: side), unwritten[index].readableBytes), count > 0,
                    let piece = unwritten[index].readSlice(length: count)
                {
                    connection.write(piece, from: side, at: now)
                }
                if closesWhenWritten, unwritten[index].readableBytes == 0, !hasFinished[index] {
                    // An L2CAP channel ends both ways: the side that has something to wait for ends later.
                    guard connection.mode == .gatt || received[index].readableBytes == expected[side.other.rawValue]
                    else { continue }
                    hasFinished[index] = true
                    connection.finish(side, at: now)
                }
            }
        }

        var expected: [Int] = [0, 0]

        mutating func take() {
            for side in VirtualLink.Side.allCases {
                let bytes = connection.take(atMost: appetite, at: side, now: now)
                received[side.rawValue].writeImmutableBuffer(bytes)
            }
        }

        /// Until nothing is due any more, or `end`.
        mutating func run(until end: Duration = .seconds(36_000)) {
            expected = unwritten.map(\.readableBytes)
            feed()
            while let deadline = connection.nextDeadline, deadline <= end {
                now = max(now, deadline)
                connection.advance(to: now)
                take()
                feed()
            }
        }
    }

    private func bytes(_ count: Int, seed: UInt64) -> ByteBuffer {
        var generator = SeededGenerator(seed: seed)
        var buffer = ByteBuffer()
        for _ in 0..<count { buffer.writeInteger(UInt8(truncatingIfNeeded: generator.next())) }
        return buffer
    }

    @Test(arguments: Self.streams, [0, 0.01, 0.05, 0.2])
    func carriesBothDirections(mode: VirtualConnection.Mode, loss: Double) {
        for seed in UInt64(1)...4 {
            var conditions = RadioConditions()
            conditions.loss = loss
            if seed.isMultiple(of: 2) { conditions.phy = .twoMegabit }
            let data = [bytes(60_000, seed: seed), bytes(20_000, seed: seed + 100)]
            var run = Run(mode, conditions, seed: seed, bytes: data)
            run.run()
            #expect(run.received[1] == data[0])
            #expect(run.received[0] == data[1])
            #expect(run.connection.isOver(at: .peripheral))
        }
    }

    @Test(arguments: [(23, 23, 23), (64, 23, 23), (512, 100, 100), (65_535, 65_533, 517), (23, 200, 185)])
    func fitsAnyPacketSize(mtu: Int, mps: Int, attMTU: Int) {
        var conditions = RadioConditions()
        conditions.channelMTU = mtu
        conditions.channelMPS = mps
        conditions.attMTU = attMTU
        conditions.loss = 0.02
        for mode in Self.streams {
            let data = [bytes(9_000, seed: 1), bytes(4_001, seed: 2)]
            var run = Run(mode, conditions, seed: 3, bytes: data)
            run.run()
            #expect(run.received[1] == data[0])
            #expect(run.received[0] == data[1])
        }
    }

    /// What bluetoothd does to GATT packets, all at once.
    @Test func survivesWhatHostsDoToDatagrams() {
        var conditions = RadioConditions()
        conditions.loss = 0.02
        conditions.datagramLoss = 0.05
        conditions.datagramReordering = 0.2
        conditions.corruptsFirstWrite = true
        for seed in UInt64(1)...6 {
            let data = [bytes(40_000, seed: seed), bytes(10_000, seed: seed + 50)]
            var run = Run(.gatt, conditions, seed: seed, bytes: data)
            run.run()
            #expect(run.received[1] == data[0])
            #expect(run.received[0] == data[1])
            #expect(run.connection.statistics(from: .central).droppedDatagrams > 0)
        }
    }

    /// A reader that takes nothing stops the writer; what is under way is bounded.
    @Test(arguments: Self.streams, [(20, 0.0), (600, 0.01)])
    func aSlowReaderStopsTheWriter(mode: VirtualConnection.Mode, pause: (seconds: Int, loss: Double)) {
        let data = [bytes(400_000, seed: 1), ByteBuffer()]
        var conditions = RadioConditions()
        conditions.loss = pause.loss
        var run = Run(mode, conditions, seed: 1, bytes: data)
        run.closesWhenWritten = false
        run.appetite = 0
        run.run(until: .seconds(pause.seconds))
        let taken = 400_000 - run.unwritten[0].readableBytes
        #expect(taken < 120_000)
        #expect(run.connection.availableByteCount(at: .peripheral) > 10_000)
        run.appetite = .max
        run.take()
        run.run(until: .seconds(pause.seconds + 200))
        #expect(run.received[1] == data[0])
    }

    @Test(arguments: Self.streams)
    func aBrokenLinkGivesAPrefix(mode: VirtualConnection.Mode) {
        var conditions = RadioConditions()
        conditions.breakAfter = 50_000
        conditions.loss = 0.05
        let data = [bytes(200_000, seed: 1), ByteBuffer()]
        var run = Run(mode, conditions, seed: 2, bytes: data)
        run.run()
        run.take()
        let count = run.received[1].readableBytes
        #expect(run.connection.link.end == .cut)
        #expect(run.connection.isOver(at: .central))
        #expect((30_000..<50_000).contains(count))
        #expect(run.received[1] == data[0].getSlice(at: 0, length: count))
    }

    @Test(arguments: Self.streams)
    func changesInTheMiddleLoseNothing(mode: VirtualConnection.Mode) {
        let data = [bytes(100_000, seed: 1), bytes(30_000, seed: 2)]
        var run = Run(mode, RadioConditions(), seed: 2, bytes: data)
        var generator = SeededGenerator(seed: 9)
        for second in 1...20 {
            run.closesWhenWritten = false
            run.run(until: .milliseconds(100 * second))
            var conditions = run.connection.link.conditions
            conditions.phy = generator.pick(RadioConditions.PHY.allCases)
            conditions.connectionInterval = .milliseconds(generator.int(8...60))
            conditions.delay = .milliseconds(generator.int(0...40))
            conditions.packetsPerEvent = generator.pick([nil, 1, 6])
            conditions.loss = generator.pick([0, 0.1])
            run.connection.change(conditions, at: max(run.now, .milliseconds(100 * second)))
            run.now = max(run.now, .milliseconds(100 * second))
        }
        run.run(until: .seconds(600))
        #expect(run.received[1] == data[0])
        #expect(run.received[0] == data[1])
    }

    /// Bytes that are the stream's, of those that the hosts send in both directions together, without loss.
    @Test(arguments: [(VirtualConnection.Mode.l2cap, 0.96), (.gatt, 0.93)])
    func littleIsSpentOnHeaders(mode: VirtualConnection.Mode, least: Double) {
        var run = Run(mode, RadioConditions(), seed: 1, bytes: [bytes(500_000, seed: 1), ByteBuffer()])
        run.run()
        #expect(run.received[1].readableBytes == 500_000)
        let frames = VirtualLink.Side.allCases.reduce(0) { $0 + run.connection.statistics(from: $1).frameBytes }
        #expect(500_000 / Double(frames) >= least)
    }
}
