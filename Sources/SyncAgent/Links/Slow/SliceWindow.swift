import BlockExchange

/// How much of a slow link is asked for at a time, by how fast the link has been: pure.
///
/// A slice is what the link carries in a fifth of a second, and two of them are under way, at most 48 KiB: so long waits
/// what is asked for next, and so much comes in vain when somebody no longer wants it. Smaller ones would cost more
/// requests; a link that goes takes no slice with it, as the first bytes of one are kept.
struct SliceWindow: Sendable {
    static let smallestSlice = 4 << 10
    static let largestSlice = 24 << 10

    /// Bytes per second, smoothed; nil before the first answer.
    private(set) var rate: Double?
    private(set) var byteCountUnderWay = 0
    /// What came since when, while something was under way all the time. Bytes come in bursts, so that the time from one
    /// arrival to the next says little.
    private var span: (start: MonotonicTime, byteCount: Int)?
    private static let shortestSpan: Duration = .milliseconds(500)

    var sliceByteCount: Int {
        guard let rate else { return 8 << 10 }
        let wanted = min(max(rate / 5, Double(Self.smallestSlice)), Double(Self.largestSlice))
        guard wanted < Double(Self.largestSlice) else { return Self.largestSlice }
        return 1 << (Int.bitWidth - 1 - Int(wanted).leadingZeroBitCount)
    }

    private var windowByteCount: Int { sliceByteCount * 2 }

    /// The bytes to ask for now of `count` that are wanted; nil while enough is under way.
    mutating func take(atMost count: Int, at now: MonotonicTime) -> Int? {
        let slice = min(count, sliceByteCount)
        guard byteCountUnderWay == 0 || byteCountUnderWay + slice <= windowByteCount else { return nil }
        if byteCountUnderWay == 0 { span = (now, 0) }
        byteCountUnderWay += slice
        return slice
    }

    /// `count` bytes that were taken have come.
    mutating func arrived(_ count: Int, at now: MonotonicTime) {
        giveBack(count)
        guard let (start, before) = span else { return }
        span = (start, before + count)
        let isOver = byteCountUnderWay == 0
        guard now - start >= (isOver ? Self.shortestSpan / 4 : Self.shortestSpan) else { return }
        let sample = Double(before + count) / ((now - start) / .seconds(1))
        rate = rate.map { $0 + (sample - $0) / 4 } ?? sample
        span = isOver ? nil : (now, 0)
    }

    /// `count` bytes that were taken do not come.
    mutating func giveBack(_ count: Int) { byteCountUnderWay = max(0, byteCountUnderWay - count) }
}
