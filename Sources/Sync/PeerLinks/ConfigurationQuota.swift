import BlockExchange

/// How often a device may say what it shares: each time this device reads and writes the index for every folder. Pure.
///
/// A person who shares 200 folders one after the other, or a script that does, stays within it; a device that says it in a
/// circle is refused for a while.
struct ConfigurationQuota: Sendable {
    static let burst = 200.0
    static let perSecond = 2.0
    static let pause: Duration = .seconds(60)

    private var left = burst
    private var last: MonotonicTime?
    private var end: MonotonicTime?

    /// The device says what it shares. False if it does so too often: its links are refused until `pause` is over.
    mutating func take(at now: MonotonicTime) -> Bool {
        if let last { left = min(Self.burst, left + max(0, (now - last) / .seconds(1)) * Self.perSecond) }
        last = now
        guard left >= 1 else {
            end = now + Self.pause
            return false
        }
        left -= 1
        return true
    }

    /// How long links are refused yet; nil if they are not.
    func pause(at now: MonotonicTime) -> Duration? {
        guard let end, end > now else { return nil }
        return end - now
    }
}
