import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import SyncDecisions
import Synchronization

/// Keeps the blocks that go one way over all limited links within the rate of the moment.
///
/// Those that wait are served in their order, the urgent before all others. What is small and must not wait, such as indexes and requests, is charged and
/// goes at once.
package final class RateLimiter: Sendable {
    /// How long a waiting one goes by a rate that may have changed by the clock.
    private static let longestNap: Duration = .seconds(30)

    private let rate: @Sendable () -> Int64?
    private let time: AgentTime
    private let bucket = Mutex<TokenBucket?>(nil)
    private let turn = Budget(limit: 1)
    private let changed = Signal()

    /// - Parameter rate: bytes per second at this moment; nil for no limit.
    init(time: AgentTime, rate: @escaping @Sendable () -> Int64?) {
        self.time = time
        self.rate = rate
    }

    /// The limits may be others now.
    func limitsChanged() { changed.notify() }

    /// Returns when so many bytes may go, or when the task is cancelled.
    package func wait(for byteCount: Int, isUrgent: Bool = false) async {
        guard rate() != nil else { return }
        guard await turn.take(1, isUrgent: isUrgent) else { return }
        defer { turn.give(1) }
        while !Task.isCancelled, let pause = take(byteCount) {
            await changed.wait(atMost: min(pause, Self.longestNap), clock: time.clock)
        }
    }

    /// What was waited for did not go: it may go elsewhere at once.
    package func giveBack(_ byteCount: Int) { bucket.withLock { $0?.giveBack(byteCount) } }

    /// Counts what went without waiting.
    package func charge(_ byteCount: Int) {
        guard let rate = rate() else { return }
        let now = time.monotonic()
        bucket.withLock { bucket in
            var current = bucket ?? TokenBucket(rate: rate, now: now)
            current.set(rate: rate, now: now)
            current.charge(byteCount, now: now)
            bucket = current
        }
    }

    /// Nil if they may go.
    private func take(_ byteCount: Int) -> Duration? {
        let now = time.monotonic()
        guard let rate = rate() else {
            bucket.withLock { $0 = nil }
            return nil
        }
        return bucket.withLock { bucket in
            var current = bucket ?? TokenBucket(rate: rate, now: now)
            current.set(rate: rate, now: now)
            defer { bucket = current }
            return current.take(byteCount, now: now)
        }
    }
}

/// The limits of a link, both ways: what goes keeps all of them.
package struct LinkLimits: Sendable {
    package struct Part: Sendable {
        package var up: RateLimiter
        package var down: RateLimiter
        /// Whether they hold for this link now.
        package var holds: @Sendable () -> Bool

        package init(up: RateLimiter, down: RateLimiter, holds: @escaping @Sendable () -> Bool) {
            self.up = up
            self.down = down
            self.holds = holds
        }
    }

    /// Those of fewer links first: who waits for them is not in the way of others.
    package var parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    func waitToSend(_ byteCount: Int) async {
        for part in parts where part.holds() { await part.up.wait(for: byteCount) }
    }
    func waitToAsk(_ byteCount: Int, isUrgent: Bool = false) async {
        for part in parts where part.holds() { await part.down.wait(for: byteCount, isUrgent: isUrgent) }
    }
    func didNotAsk(_ byteCount: Int) {
        for part in parts where part.holds() { part.down.giveBack(byteCount) }
    }
    package func sent(_ byteCount: Int) { for part in parts where part.holds() { part.up.charge(byteCount) } }
}

/// The limits as the configuration has them now. A policy may set a lower one; whoever is limited by one of the two is by
/// the lower, for there is one bucket for each way.
final class SharedLimits: Sendable {
    private let limits: Mutex<TransferLimits>
    private let held: @Sendable () -> HeldTransfers

    init(_ limits: TransferLimits, held: @escaping @Sendable () -> HeldTransfers) {
        self.limits = Mutex(limits)
        self.held = held
    }

    /// Whether what goes over such a link is limited at all.
    func hold(for route: LinkRoute) -> Bool {
        switch route {
        case .radio: false
        case .localNetwork: limits.withLock { $0.includesLocalNetwork } || held().rate(over: route) != nil
        case .internet: true
        }
    }

    /// Whether a device's own limits hold for such a link: as the common ones, whatever the policies.
    func holdForDevice(over route: LinkRoute) -> Bool {
        switch route {
        case .radio: false
        case .localNetwork: limits.withLock { $0.includesLocalNetwork }
        case .internet: true
        }
    }

    func set(_ new: TransferLimits) { limits.withLock { $0 = new } }

    func rates(at unixSeconds: Int64, utcOffset: Int64) -> TransferLimits.Rates {
        var rates = limits.withLock { $0.rates(at: unixSeconds, utcOffset: utcOffset) }
        if let policy = held().rate(over: .internet) {
            rates.up = min(rates.up ?? policy, policy)
            rates.down = min(rates.down ?? policy, policy)
        }
        return rates
    }
}
