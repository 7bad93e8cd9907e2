import BlockExchange

/// How much of a slow link is asked for at a time, by how fast the link has been: pure.
///
/// A slice is what the link carries in a fifth of a second, and three of them are under way, at most 64 KiB: so long
/// waits what is asked for next, and so much comes in vain when somebody no longer wants it.
struct SliceWindow: Sendable {
    static let smallestSlice = 4 << 10
    static let largestSlice = 32 << 10
    static let largestWindow = 64 << 10

    /// Bytes per second, smoothed; nil before the first answer.
    private(set) var rate: Double?
    private(set) var byteCountUnderWay = 0
    /// Since when the bytes that come next have been on their way.
    private var mark: MonotonicTime?

    var sliceByteCount: Int {
        guard let rate else { return 16 << 10 }
        let wanted = min(max(rate / 5, Double(Self.smallestSlice)), Double(Self.largestSlice))
        return 1 << (Int.bitWidth - 1 - Int(wanted).leadingZeroBitCount)
    }

    private var windowByteCount: Int { min(sliceByteCount * 3, Self.largestWindow) }

    /// The bytes to ask for now of `count` that are wanted; nil while enough is under way.
    mutating func take(atMost count: Int, at now: MonotonicTime) -> Int? {
        let slice = min(count, sliceByteCount)
        guard byteCountUnderWay == 0 || byteCountUnderWay + slice <= windowByteCount else { return nil }
        if byteCountUnderWay == 0 { mark = now }
        byteCountUnderWay += slice
        return slice
    }

    /// `count` bytes that were taken have come.
    mutating func arrived(_ count: Int, at now: MonotonicTime) {
        if let mark, now > mark, count >= Self.smallestSlice {
            let sample = Double(count) / ((now - mark) / .seconds(1))
            rate = rate.map { $0 + (sample - $0) / 4 } ?? sample
        }
        giveBack(count)
        mark = byteCountUnderWay > 0 ? now : nil
    }

    /// `count` bytes that were taken do not come.
    mutating func giveBack(_ count: Int) { byteCountUnderWay = max(0, byteCountUnderWay - count) }
}
