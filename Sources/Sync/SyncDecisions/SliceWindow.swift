import BlockExchange

/// How much of a slow link is asked for at a time, by how fast the link has been: pure.
///
/// A slice is what the link carries in a fifth of a second, and two of them are under way, at most 48 KiB: so long waits
/// what is asked for next, and so much comes in vain when somebody no longer wants it. Smaller ones would cost more
/// requests; a link that goes takes no slice with it, as the first bytes of one are kept.
package struct SliceWindow: RequestWindow {
    package static let smallestSlice = 4 << 10
    static let largestSlice = 24 << 10

    /// Bytes per second, smoothed; nil while nothing is known of the link.
    package private(set) var rate: Double?
    /// The rate is that of an earlier link: the first that is measured takes its place.
    private var isRemembered: Bool
    private(set) var byteCountUnderWay = 0
    /// What came since when, while something was under way all the time. Bytes come in bursts, so that the time from one
    /// arrival to the next says little.
    private var span: (start: MonotonicTime, byteCount: Int)?
    /// Since when nothing is under way; a moment of it does not end the span.
    private var idleSince: MonotonicTime?
    private static let longestPause: Duration = .milliseconds(20)
    private static let shortestSpan: Duration = .milliseconds(500)
    /// Some windows full: so much does not come in one burst, and a link that is quick, and lost soon, needs no longer.
    private static let largestSpan = 128 << 10

    /// - Parameter rate: of an earlier link of the same kind to the same device.
    package init(rate: Double? = nil) {
        self.rate = rate
        isRemembered = rate != nil
    }

    var sliceByteCount: Int {
        guard let rate else { return 8 << 10 }
        let wanted = min(max(rate / 5, Double(Self.smallestSlice)), Double(Self.largestSlice))
        guard wanted < Double(Self.largestSlice) else { return Self.largestSlice }
        return 1 << (Int.bitWidth - 1 - Int(wanted).leadingZeroBitCount)
    }

    private var windowByteCount: Int { sliceByteCount * 2 }

    /// The bytes to ask for now of `count` that are wanted; nil while enough is under way.
    package mutating func take(atMost count: Int, at now: MonotonicTime) -> Int? {
        let slice = min(count, sliceByteCount)
        guard byteCountUnderWay == 0 || byteCountUnderWay + slice <= windowByteCount else { return nil }
        if byteCountUnderWay == 0, idleSince.map({ now - $0 > Self.longestPause }) ?? true { span = (now, 0) }
        byteCountUnderWay += slice
        return slice
    }

    /// `count` bytes that were taken have come.
    package mutating func arrived(_ count: Int, at now: MonotonicTime) {
        giveBack(count)
        guard let (start, before) = span else { return }
        span = (start, before + count)
        let isOver = byteCountUnderWay == 0
        if isOver { idleSince = now }
        let isLong = now - start >= (isOver ? Self.shortestSpan / 4 : Self.shortestSpan)
        guard isLong || before + count >= Self.largestSpan, now > start else { return }
        let sample = Double(before + count) / ((now - start) / .seconds(1))
        rate = isRemembered ? sample : rate.map { $0 + (sample - $0) / 4 } ?? sample
        isRemembered = false
        span = (now, 0)
    }

    /// `count` bytes that were taken do not come.
    package mutating func giveBack(_ count: Int) { byteCountUnderWay = max(0, byteCountUnderWay - count) }
}
