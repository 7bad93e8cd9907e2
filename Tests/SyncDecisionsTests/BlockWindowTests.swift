import Testing

@testable import SyncDecisions

@Suite struct BlockWindowTests {
    private static let block = 128 << 10

    /// A peer that answers in order, so many bytes per second after a round trip, of whom as much is wanted as it gives.
    private static func keptBusy(
        _ window: inout BlockWindow, bytesPerSecond: Double, roundTrip: Double, block: Int = block, seconds: Double
    ) -> (arrived: Double, waited: Double) {
        var (now, free, sent) = (0.0, 0.0, [(at: Double, Int)]())
        var (arrived, waited) = (0.0, 0.0)
        func time(_ value: Double) -> Duration { .microseconds(Int64(value * 1_000_000)) }
        while now < seconds {
            while let count = window.take(atMost: block, at: time(now)) {
                free = max(free, now + roundTrip) + Double(count) / bytesPerSecond
                sent.append((free, count))
                // What is asked for last waits for all that came before it.
                waited = free - now
            }
            let (at, count) = sent.removeFirst()
            now = at
            window.arrived(count, at: time(now))
            arrived += Double(count)
        }
        for (_, count) in sent { window.giveBack(count) }
        return (arrived / now, waited)
    }

    /// Bytes per second, and the round trip in seconds.
    @Test(arguments: [
        (300_000.0, 0.05), (2_000_000, 0.03), (5_000_000, 0.2), (12_000_000, 0.002), (12_000_000, 0.1),
        (110_000_000, 0.001),
        (110_000_000, 0.05), (1_000_000_000, 0.0005),
    ])
    func aLinkIsUsedInFullAndWhoAsksNextWaitsASecond(rate: Double, roundTrip: Double) {
        var window = BlockWindow()
        // The first seconds are for finding out.
        _ = Self.keptBusy(&window, bytesPerSecond: rate, roundTrip: roundTrip, seconds: 5)
        let (came, waited) = Self.keptBusy(&window, bytesPerSecond: rate, roundTrip: roundTrip, seconds: 30)
        #expect(came > 0.9 * rate)
        #expect(waited < max(1.5, Double(BlockWindow.smallest) / rate) + roundTrip)
        #expect((BlockWindow.smallest...BlockWindow.largest).contains(window.byteCount))
    }

    @Test func aSlowerLinkIsNoticed() {
        var window = BlockWindow()
        _ = Self.keptBusy(&window, bytesPerSecond: 50_000_000, roundTrip: 0.01, seconds: 5)
        #expect(window.byteCount > 30 << 20)
        let (_, waited) = Self.keptBusy(&window, bytesPerSecond: 1_000_000, roundTrip: 0.01, seconds: 90)
        #expect(waited < 1.5)
    }

    /// With one block under way, the link would be idle until the next is asked for.
    @Test func twoBlocksAreUnderWayHoweverLargeTheyAre() {
        var window = BlockWindow()
        #expect(window.take(atMost: 16 << 20, at: .zero) == 16 << 20)
        #expect(window.take(atMost: 16 << 20, at: .zero) == 16 << 20)
        #expect(window.take(atMost: 1, at: .zero) == nil)
        window.giveBack(16 << 20)
        #expect(window.take(atMost: .max, at: .zero) == .max)
        #expect(window.take(atMost: .max, at: .zero) == nil)
    }

    @Test func whoAsksForLittleSaysNothingOfTheLink() {
        var window = BlockWindow()
        for second in 0..<20 {
            let now = Duration.seconds(second)
            #expect(window.take(atMost: Self.block, at: now) == Self.block)
            window.arrived(Self.block, at: now + .milliseconds(10))
        }
        #expect(window.byteCount == BlockWindow.first)
    }
}
