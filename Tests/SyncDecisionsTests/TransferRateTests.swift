import BlockExchange
import SyncTestKit
import Testing

@testable import SyncDecisions

@Suite struct TransferRateTests {
    private static func after(_ arrivals: [(seconds: Double, bytes: Int64)]) -> TransferRate {
        var rate = TransferRate(begun: .zero)
        for (seconds, bytes) in arrivals { rate.add(bytes, at: .seconds(seconds)) }
        return rate
    }

    @Test func nothingIsSaidBeforeAnythingCame() {
        let rate = TransferRate(begun: .zero)
        #expect(rate.bytesPerSecond(at: .seconds(10)) == nil)
        #expect(rate.secondsLeft(for: 1, at: .seconds(10)) == nil)
        #expect(rate.secondsLeft(for: 0, at: .seconds(10)) == 0)
    }

    /// What comes evenly has the rate that it has, whenever one looks and however often it comes.
    @Test(arguments: [0.01, 0.1, 0.3, 1, 4, 20, 120])
    func whatComesEvenlyHasItsRate(_ interval: Double) throws {
        var rate = TransferRate(begun: .zero)
        let bytes = Int64(1_000_000 * interval)
        for number in 1...200 { rate.add(bytes, at: .seconds(Double(number) * interval)) }
        let end = 200 * interval
        let found = try #require(rate.bytesPerSecond(at: .seconds(end)))
        #expect((950_000...1_050_000).contains(found))
        // In the middle between two arrivals it seems a little slower, never faster.
        let between = try #require(rate.bytesPerSecond(at: .seconds(end + interval / 2)))
        #expect((700_000...1_050_000).contains(between))
    }

    /// Random arrivals: never more than all that came in the stretch that can have been looked at, and never negative.
    @Test(arguments: 0..<50 as Range<UInt64>) func staysBetweenNothingAndAll(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var rate = TransferRate(begun: .zero)
        var now = 0.0
        var total: Int64 = 0
        for _ in 0..<300 {
            now += Double.random(in: 0...(Bool.random(using: &random) ? 0.1 : 8), using: &random)
            let bytes = Int64.random(in: 0...1 << 24, using: &random)
            total += bytes
            rate.add(bytes, at: .seconds(now))
            guard let found = rate.bytesPerSecond(at: .seconds(now)) else {
                #expect(total == 0, "seed \(seed)")
                continue
            }
            #expect(found >= 0 && Double(found) <= Double(total) / 0.25 + 1, "seed \(seed)")
        }
    }

    @Test func aNewPaceShowsWithinSeconds() throws {
        var rate = TransferRate(begun: .zero)
        for number in 1...100 { rate.add(100_000, at: .milliseconds(100 * number)) }
        for number in 101...170 { rate.add(1_000_000, at: .milliseconds(100 * number)) }
        let found = try #require(rate.bytesPerSecond(at: .seconds(17)))
        #expect((9_500_000...10_500_000).contains(found))
    }

    @Test func whatStallsSlowsDownByItself() throws {
        let rate = Self.after((1...50).map { (Double($0) / 10, 100_000) })
        let rates = [5.0, 10, 20, 60, 600].map { rate.bytesPerSecond(at: .seconds($0)) ?? -1 }
        #expect(rates == rates.sorted(by: >) && Set(rates).count == rates.count)
        #expect((900_000...1_100_000).contains(rates[0]) && rates[4] < 10_000)
    }

    @Test func secondsLeftAreRoundedUp() {
        let rate = Self.after([(1, 1000), (2, 1000)])
        #expect(rate.bytesPerSecond(at: .seconds(2)) == 1000)
        #expect(rate.secondsLeft(for: 10_000, at: .seconds(2)) == 10)
        #expect(rate.secondsLeft(for: 10_001, at: .seconds(2)) == 11)
        #expect(rate.secondsLeft(for: .max, at: .seconds(2)) == Int64.max / 1000 + 1)
    }

    @Test func sizesAtTheEndOfTheRangeDoNotTrap() {
        let rate = Self.after([(0, .max), (1, .max), (2, .max)])
        #expect(rate.bytesPerSecond(at: .seconds(2)) == Int64.max / 2 + 1)
        #expect(Self.after([(0, .max)]).bytesPerSecond(at: .zero) == .max)
        #expect(Self.after([(0, -5), (1, 0)]).bytesPerSecond(at: .seconds(2)) == nil)
    }
}
