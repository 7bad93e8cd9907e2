import Arithmetic
import BlockExchange

/// How fast bytes come or go, made of when they did.
///
/// Over a network blocks come by the hundred in a second, over Bluetooth one in many seconds. So the stretch that is looked
/// at is five seconds, or as long as it takes for four arrivals; it reaches to the present, so that what has stalled slows
/// down by itself. What came at the moment when the stretch begins was under way before it and does not count.
package struct TransferRate: Equatable, Sendable {
    private struct Arrival: Equatable, Sendable {
        var time: MonotonicTime
        /// What came at that moment.
        var first: Int64
        /// That and what came right after it.
        var bytes: Int64
    }

    private static let stretch: MonotonicTime = .seconds(5)
    private static let enough = 4
    /// What comes so soon after an arrival is one with it.
    private static let grain: MonotonicTime = .milliseconds(250)
    /// A shorter time says nothing.
    private static let shortest: MonotonicTime = .milliseconds(500)

    private let begun: MonotonicTime
    /// Oldest first: those of one stretch, and never fewer than `enough` if there were so many.
    private var arrivals: [Arrival] = []
    /// Whether `arrivals` has all since `begun`.
    private var isWhole = true

    package init(begun: MonotonicTime) { self.begun = begun }

    package mutating func add(_ bytes: Int64, at now: MonotonicTime) {
        guard bytes > 0 else { return }
        if let last = arrivals.indices.last, now - arrivals[last].time < Self.grain {
            arrivals[last].bytes.addClamped(bytes)
            return
        }
        arrivals.append(Arrival(time: now, first: bytes, bytes: bytes))
        let kept = firstKept(at: now)
        if kept > 0 {
            arrivals.removeFirst(kept)
            isWhole = false
        }
    }

    /// When something came last; nil if nothing has yet.
    package var lastArrival: MonotonicTime? { arrivals.last?.time }

    /// Nil if nothing has come yet.
    package func bytesPerSecond(at now: MonotonicTime) -> Int64? {
        let kept = firstKept(at: now)
        guard kept < arrivals.count else { return nil }
        var bytes = arrivals[kept...].reduce(Int64(0)) { $0.addingClamped($1.bytes) }
        var since = begun
        if kept > 0 || !isWhole {
            bytes -= arrivals[kept].first
            since = arrivals[kept].time
        }
        return Int64(nearest: Double(max(0, bytes)) / (max(now - since, Self.shortest) / .seconds(1)))
    }

    /// Seconds until `bytes` more are done; nil if nobody can say.
    package func secondsLeft(for bytes: Int64, at now: MonotonicTime) -> Int64? {
        guard bytes > 0 else { return 0 }
        guard let rate = bytesPerSecond(at: now), rate > 0 else { return nil }
        return bytes / rate + (bytes % rate > 0 ? 1 : 0)
    }

    private func firstKept(at now: MonotonicTime) -> Int {
        let recent = arrivals.firstIndex { now - $0.time <= Self.stretch } ?? arrivals.count
        return max(0, min(recent, arrivals.count - Self.enough))
    }
}
