import Arithmetic

/// What a link carries while it is kept busy, in bytes per second. A value that is told what is asked for and what has come;
/// answers to single small requests say how long they take, not how much would fit.
package struct BusyRate: Sendable {
    /// Bytes that are waited for at once, so that a link counts as busy.
    package static let enough = 256 << 10
    /// The shortest time that says something.
    package static let span: Duration = .seconds(1)

    private var awaited = 0
    /// Since when it is busy without a break, and what had come until then.
    private var start: (time: Duration, received: Int64)?

    package init() {}

    /// - Parameter received: all bytes that have come over the link so far.
    package mutating func asked(_ count: Int, received: Int64, at now: Duration) {
        awaited.addClamped(max(0, count))
        if start == nil, awaited >= Self.enough { start = (now, received) }
    }

    /// An answer has come, or is not waited for any longer. Gives what the link carried, at most once in `span`.
    package mutating func ended(_ count: Int, received: Int64, at now: Duration) -> Double? {
        awaited = max(0, awaited - max(0, count))
        defer { if awaited < Self.enough { start = nil } }
        guard let start, now - start.time >= Self.span else { return nil }
        self.start = (now, received)
        return Double(max(0, received.subtractingClamped(start.received))) / ((now - start.time) / .seconds(1))
    }
}
