import BlockExchange
import Phrases

/// How long to wait before something is tried again: one second at first, twice as long after each failure, at most a
/// minute, each time with up to a quarter more so that two devices do not stay in step. Pure.
struct RetryBackoff: Sendable {
    static let first: Duration = .seconds(1)
    static let longest: Duration = .seconds(60)

    private var failures = 0

    /// The pause after another failure; `random` is uniform in 0..<1.
    mutating func failed(random: Double) -> Duration {
        let pause = min(Self.longest, Self.first * (1 << min(failures, 6)))
        failures = min(failures + 1, 20)
        return pause + pause * random / 4
    }

    mutating func succeeded() { failures = 0 }
}

/// How long links with a device are refused after what it announced could not be stored, or what it is to be told could not be read:
/// each would end as soon as it comes to that again, and the device's own back-off begins again with every link that is good. Pure.
struct StorageBackoff: Sendable {
    private var backoff = RetryBackoff()
    private var end: MonotonicTime?
    /// What links that are refused are closed with.
    private(set) var reason = LinkEnd.storage

    mutating func failed(at now: MonotonicTime, random: Double, saying reason: Phrase = LinkEnd.storage) {
        end = now + backoff.failed(random: random)
        self.reason = reason
    }

    mutating func stored() { self = StorageBackoff() }

    /// Somebody asks for a link, and may have freed space: the next is let in.
    mutating func asked() { end = nil }

    /// How long links are refused yet; nil if they are not.
    func pause(at now: MonotonicTime) -> Duration? {
        guard let end, end > now else { return nil }
        return end - now
    }
}
