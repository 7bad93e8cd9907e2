import LinkRules
import Testing

@Suite struct BusyRateTests {
    private static let block = 128 << 10

    /// Requests kept under way, and as many answered each 100 ms as come.
    @Test func aBusyLinkIsMeasured() {
        var rate = BusyRate()
        for _ in 0..<8 { rate.asked(Self.block, received: 0, at: .zero) }
        var (received, measured): (Int64, [Double]) = (0, [])
        for step in 1...25 {
            let now = Duration.milliseconds(step * 100)
            received += Int64(Self.block)
            if let found = rate.ended(Self.block, received: received, at: now) { measured.append(found) }
            rate.asked(Self.block, received: received, at: now)
        }
        #expect(measured == [Double(Self.block) * 10, Double(Self.block) * 10])
    }

    @Test func oneRequestAfterTheOtherSaysNothing() {
        var rate = BusyRate()
        for step in 0..<100 {
            let now = Duration.milliseconds(step * 100)
            rate.asked(Self.block, received: 0, at: now)
            #expect(rate.ended(Self.block, received: 1 << 30, at: now + .milliseconds(90)) == nil)
        }
    }

    @Test func aBreakBeginsAnew() {
        var rate = BusyRate()
        rate.asked(BusyRate.enough, received: 0, at: .zero)
        #expect(rate.ended(BusyRate.enough, received: 1, at: .milliseconds(500)) == nil)
        rate.asked(BusyRate.enough, received: 1000, at: .seconds(60))
        #expect(rate.ended(BusyRate.enough, received: 3000, at: .seconds(62)) == 1000)
    }

    @Test func nonsenseDoesNotTrap() {
        var rate = BusyRate()
        rate.asked(.min, received: .min, at: .zero)
        #expect(rate.ended(.max, received: .max, at: .zero) == nil)
        rate.asked(.max, received: .max, at: .zero)
        #expect(rate.ended(.max, received: 0, at: .seconds(1)) == 0)
    }
}
