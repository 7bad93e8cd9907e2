import LinkRules
import SyncTestKit
import Testing

@Suite struct RequestSpreadTests {
    private static let block = 128 << 10

    private static func spread(over numbers: [Int], primary: Int?) -> RequestSpread {
        var spread = RequestSpread()
        spread.set(links: numbers.map { LinkNumber($0) }, primary: primary.map { LinkNumber($0) })
        return spread
    }

    @Test func requestsGoWhereTheLeastIsUnderWay() {
        var spread = Self.spread(over: [1, 2, 3], primary: 1)
        let taken = (0..<8).map { _ in spread.take(byteCount: Self.block)?.rawValue }
        #expect(taken == [2, 3, 2, 3, 2, 3, 2, 3])
        // Each of the others has 512 KiB more than the primary.
        #expect(spread.take(byteCount: Self.block) == LinkNumber(1))
        spread.finished(LinkNumber(3), byteCount: Self.block)
        #expect(spread.take(byteCount: Self.block) == LinkNumber(3))
    }

    @Test func oneLinkTakesAll() {
        var spread = Self.spread(over: [1], primary: 1)
        for _ in 0..<100 { #expect(spread.take(byteCount: Self.block) == LinkNumber(1)) }
        spread.set(links: [], primary: nil)
        #expect(spread.take(byteCount: 1) == nil)
    }

    @Test func whatIsUnderWayOnALinkThatStaysCountsOn() {
        var spread = Self.spread(over: [1, 2, 3], primary: 1)
        #expect(spread.take(byteCount: 3 * Self.block) == LinkNumber(2))
        spread.set(links: [LinkNumber(2), LinkNumber(3), LinkNumber(4)], primary: LinkNumber(4))
        #expect(spread.take(byteCount: Self.block) == LinkNumber(3))
    }

    @Test func oddSizesDoNoHarm() {
        var spread = Self.spread(over: [1, 2], primary: nil)
        for size in [Int.min, -1, 0, Int.max] {
            guard let link = spread.take(byteCount: size) else { continue }
            spread.finished(link, byteCount: size)
        }
        spread.finished(LinkNumber(77), byteCount: 1)
        #expect(spread.take(byteCount: 1) == LinkNumber(1))
    }
}
