/// How often passwords may be tried: by one source, and by all together. Pure: who calls has the clock.
///
/// An attempt counts when it begins, so that many at once are no way around it; the right password takes it back. A source that has
/// had it is not held by what all others try, so that these cannot keep the owner out; its own limit is as before.
struct LoginLimiter: Sendable {
    struct Limits: Sendable {
        /// Attempts of one source that need not wait.
        var free = 5
        /// Seconds that the next one waits; twice as long after each further one.
        var firstWait: Int64 = 2
        var longestWait: Int64 = 900
        /// Seconds without an attempt after which a source is like a new one.
        var memory: Int64 = 3600
        /// Sources that are remembered; beyond, the one with the fewest attempts is forgotten, the oldest of them.
        var sources = 1024
        /// Sources that have logged in and are remembered; beyond, the one that did so longest ago is forgotten.
        var known = 64
        /// Attempts of all other sources that need not wait.
        var burst: Int64 = 30
        /// Seconds after which there is one more.
        var interval: Int64 = 6
    }

    /// Who tries: an IPv4 address, or the first half of an IPv6 address, as one household has all that begin with it.
    struct Source: Hashable, Sendable {
        let bytes: [UInt8]

        /// - Parameter address: 4 or 16 bytes; anything else is one source.
        init(address: [UInt8]) {
            let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
            if address.count == 16, address.starts(with: mapped) {
                bytes = Array(address.suffix(4))
            } else {
                bytes = address.count == 16 ? Array(address.prefix(8)) : address.count == 4 ? address : []
            }
        }
    }

    enum Verdict: Equatable, Sendable {
        case allowed
        /// Not before so many seconds.
        case wait(Int64)
    }

    private struct Entry {
        var attempts: Int
        var last: Int64
    }

    private let limits: Limits
    private var entries: [Source: Entry] = [:]
    /// When a source last logged in.
    private var known: [Source: Int64] = [:]
    /// Attempts that all who are not known have left together, and since when the next one is under way.
    private var left: Int64
    private var filled: Int64?

    init(limits: Limits = Limits()) {
        self.limits = limits
        left = limits.burst
    }

    var sourceCount: Int { entries.count }

    /// Says whether `source` may try now, and counts the attempt if it may.
    ///
    /// - Parameter now: seconds of a clock that is never set back.
    mutating func begin(_ source: Source, now: Int64) -> Verdict {
        fill(now)
        var entry = entries[source] ?? Entry(attempts: 0, last: now)
        if now - entry.last >= limits.memory { entry.attempts = 0 }
        let open = entry.last + wait(after: entry.attempts)
        guard now >= open else { return .wait(open - now) }
        if known[source] == nil {
            guard left > 0 else { return .wait(max(1, limits.interval - (now - (filled ?? now)))) }
            left -= 1
        }
        if entries[source] == nil { makeRoom(now) }
        entry.attempts += 1
        entry.last = now
        entries[source] = entry
        return .allowed
    }

    /// The attempt of `source` had the right password.
    ///
    /// - Parameter now: seconds of a clock that is never set back.
    mutating func succeeded(_ source: Source, now: Int64) {
        entries[source] = nil
        if known[source] == nil { left = min(limits.burst, left + 1) }
        known[source] = now
        while known.count > limits.known, let oldest = known.min(by: { $0.value < $1.value }) {
            known[oldest.key] = nil
        }
    }

    private func wait(after attempts: Int) -> Int64 {
        guard attempts >= limits.free else { return 0 }
        // bounded: the shift is at most 20
        return min(limits.longestWait, limits.firstWait << Int64(min(attempts - limits.free, 20)))
    }

    private mutating func fill(_ now: Int64) {
        guard left < limits.burst, let since = filled else {
            filled = now
            return
        }
        let new = max(0, now - since) / limits.interval
        left = min(limits.burst, left + new)
        filled = left == limits.burst ? now : since + new * limits.interval
    }

    private mutating func makeRoom(_ now: Int64) {
        guard entries.count >= limits.sources else { return }
        entries = entries.filter { now - $0.value.last < limits.memory }
        while entries.count >= limits.sources,
            let least = entries.min(by: { ($0.value.attempts, $0.value.last) < ($1.value.attempts, $1.value.last) })
        {
            entries[least.key] = nil
        }
    }
}
