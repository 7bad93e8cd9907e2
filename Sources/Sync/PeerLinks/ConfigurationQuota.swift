import BlockExchange

/// How often a device may say what it shares: each time this device reads and writes the index for every folder. Pure.
///
/// A person who shares 200 folders one after the other, or a script that does, stays within it.
struct ConfigurationQuota: Sendable {
    static let burst = 200.0
    static let perMinute = 120.0

    private var left = burst
    private var last: MonotonicTime?

    /// The device says what it shares. False if it does so too often.
    mutating func take(at now: MonotonicTime) -> Bool {
        if let last { left = min(Self.burst, left + max(0, (now - last) / .seconds(60)) * Self.perMinute) }
        last = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
