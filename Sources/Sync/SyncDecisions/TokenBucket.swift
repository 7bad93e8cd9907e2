import BlockExchange

/// How many bytes may go at a rate: what was earned while nothing went is kept up to a burst. Pure.
///
/// In any time `t` no more than `rate × t` go, the burst, and what the last of them exceeds the burst by.
package struct TokenBucket: Sendable {
    /// A second's worth, and a block at least.
    private static let smallestBurst: Double = 131_072

    package private(set) var rate: Double
    private var tokens: Double
    private var updated: MonotonicTime

    /// - Parameter rate: bytes per second, above 0.
    package init(rate: Int64, now: MonotonicTime) {
        self.rate = Double(max(1, rate))
        tokens = max(self.rate, Self.smallestBurst)
        updated = now
    }

    var burst: Double { max(rate, Self.smallestBurst) }

    /// Another rate from now on; what was earned or is owed stays.
    package mutating func set(rate: Int64, now: MonotonicTime) {
        guard Double(max(1, rate)) != self.rate else { return }
        earn(until: now)
        self.rate = Double(max(1, rate))
        tokens = min(tokens, burst)
    }

    /// Spends `byteCount` if that many may go now, or as many as the bucket holds at most; else says how long it takes
    /// until they may.
    package mutating func take(_ byteCount: Int, now: MonotonicTime) -> Duration? {
        earn(until: now)
        let needed = min(Double(byteCount), burst)
        guard tokens < needed else {
            tokens -= Double(byteCount)
            return nil
        }
        return .seconds(min((needed - tokens) / rate, 86_400)) + .microseconds(1)
    }

    /// Spends what does not wait.
    package mutating func charge(_ byteCount: Int, now: MonotonicTime) {
        earn(until: now)
        tokens -= Double(byteCount)
    }

    /// What was taken and did not go after all.
    package mutating func giveBack(_ byteCount: Int) { tokens = min(burst, tokens + Double(byteCount)) }

    private mutating func earn(until now: MonotonicTime) {
        guard now > updated else { return }
        tokens = min(burst, tokens + (now - updated) / .seconds(1) * rate)
        updated = now
    }
}
