/// Nanoseconds since an origin that the caller chose, or between two such times.
typealias Nanoseconds = Int64

extension Duration {
    /// At most about 146 years either way, so that sums of two stay in range.
    var nanoseconds: Nanoseconds {
        let limit: Int64 = 1 << 62
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow, product.magnitude < limit.magnitude else { return seconds < 0 ? -limit : limit }
        return min(max(product + attoseconds / 1_000_000_000, -limit), limit)
    }
}

extension Nanoseconds {
    static func milliseconds(_ count: Int64) -> Nanoseconds { count * 1_000_000 }
}

/// How long an answer takes, and how long to wait for one (RFC 6298).
struct RoundTrip: Sendable {
    /// How long a receiver holds an acknowledgement back for more to acknowledge.
    static let leastAcknowledgementDelay = Nanoseconds.milliseconds(25)
    static let greatestAcknowledgementDelay = Nanoseconds.milliseconds(60)
    static let initialTimeout = Nanoseconds.milliseconds(1000)
    static let leastTimeout = Nanoseconds.milliseconds(60)
    static let greatestTimeout = Nanoseconds.milliseconds(10_000)
    /// To ask again costs a few bytes: waiting time doubles up to this only.
    static let greatestInterval = Nanoseconds.milliseconds(2000)

    /// Nil before the first sample.
    private(set) var smoothed: Nanoseconds?
    private var variation: Nanoseconds = 0

    mutating func add(_ sample: Nanoseconds) {
        let sample = min(max(sample, 0), 1 << 40)
        guard let old = smoothed else {
            smoothed = sample
            variation = sample / 2
            return
        }
        variation += (abs(old - sample) - variation) / 4
        smoothed = old + (sample - old) / 8
    }

    var timeout: Nanoseconds {
        guard let smoothed else { return Self.initialTimeout }
        let timeout = smoothed + max(.milliseconds(10), 4 * variation) + Self.leastAcknowledgementDelay
        return min(max(timeout, Self.leastTimeout), Self.greatestTimeout)
    }
}
