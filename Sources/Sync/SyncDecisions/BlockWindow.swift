import BlockExchange

/// How much of what nobody waits for is asked of a network's link at a time, by how fast the link has been: pure.
///
/// What is under way is about what comes in a second: so long waits what a person asks for then, since the peer answers in order.
/// Two blocks are under way at least, so that the link is never idle for a round trip. The link is measured only while more is
/// wanted than is under way: who asks for little says nothing of what it carries.
package struct BlockWindow: RequestWindow {
    package static let smallest = 512 << 10
    package static let first = 2 << 20
    package static let largest = 64 << 20
    private static let shortestSpan: Duration = .milliseconds(250)

    package private(set) var byteCount = Self.first
    private var byteCountUnderWay = 0
    private var countUnderWay = 0
    /// What has come since something had to wait.
    private var span: (start: MonotonicTime, byteCount: Int)?

    package init() {}

    package mutating func take(atMost count: Int, at now: MonotonicTime) -> Int? {
        let (sum, isTooMuch) = byteCountUnderWay.addingReportingOverflow(count)
        guard countUnderWay < 2 || !isTooMuch && sum <= byteCount else {
            if span == nil { span = (now, 0) }
            return nil
        }
        byteCountUnderWay = isTooMuch ? .max : sum
        countUnderWay += 1
        return count
    }

    package mutating func arrived(_ count: Int, at now: MonotonicTime) {
        giveBack(count)
        guard let (start, before) = span else { return }
        // bounded: blocks are smaller than messages, and as many come as were asked for
        let came = before + count
        guard now - start >= Self.shortestSpan else { return span = (start, came) }
        let perSecond = Double(came) / ((now - start) / .seconds(1))
        let wanted = Int(min(max(perSecond, Double(Self.smallest)), Double(Self.largest)))
        byteCount = wanted > byteCount ? wanted : (byteCount + wanted) / 2
        span = nil
    }

    package mutating func giveBack(_ count: Int) {
        byteCountUnderWay = max(0, byteCountUnderWay - count)
        countUnderWay = max(0, countUnderWay - 1)
    }
}
