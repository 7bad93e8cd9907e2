/// When to announce this device to one server: events in, the next moment out.
///
/// Times are durations since any fixed moment. The rules are Syncthing's (facts: "When to announce"), with bounds on what
/// the server asks for.
package struct AnnounceSchedule: Sendable, Equatable {
    private enum State: Equatable {
        /// Until `next`.
        case waiting
        /// A request is under way; whether the addresses have changed since it began.
        case announcing(isOutdated: Bool)
    }

    /// When the first announcement follows the start: not all devices of a house or company whose power returns at the same moment.
    package static let firstDelay = Duration.seconds(3)...Duration.seconds(7)
    /// How long addresses must stay as they are before they are announced.
    package static let settlingTime = Duration.seconds(2)
    /// So many changes without an announcement are too restless to follow, and wait for `restlessPause`.
    package static let changeLimit = 10
    package static let restlessPause = Duration.seconds(300)
    package static let failurePause = Duration.seconds(300)
    package static let emptyPause = Duration.seconds(300)
    package static let defaultInterval = Duration.seconds(1800)
    /// Servers drop what was not repeated for two hours, and ask for about one.
    package static let intervalRange = Duration.seconds(60)...Duration.seconds(5400)
    package static let retryRange = Duration.seconds(30)...Duration.seconds(3600)
    /// Least time between two requests that network events cause.
    package static let gap = Duration.seconds(10)

    /// When to announce next; nil while a request is under way.
    package var next: Duration? {
        if case .waiting = state { due } else { nil }
    }

    private var state = State.waiting
    private var due: Duration
    private var changeCount = 0
    private var lastAttempt: Duration?
    /// The server is overloaded and asked for peace until then: no event of ours shortens that.
    private var blockedUntil: Duration?

    /// - Parameter jitter: from 0 to 1.
    package init(at now: Duration, jitter: Double) {
        let (earliest, latest) = (Self.firstDelay.lowerBound, Self.firstDelay.upperBound)
        due = now + earliest + (latest - earliest) * min(max(jitter, 0), 1)
    }

    /// Whether to send an announcement now; it is under way from then on and ends by `succeeded`, `failed` or `skipped`.
    package mutating func begin(at now: Duration) -> Bool {
        guard case .waiting = state, now >= due else { return false }
        state = .announcing(isOutdated: false)
        lastAttempt = now
        return true
    }

    /// The server took the announcement.
    package mutating func succeeded(reannounceAfter: Duration?, at now: Duration) {
        changeCount = 0
        blockedUntil = nil
        finish(next: now + (reannounceAfter ?? Self.defaultInterval).clamped(to: Self.intervalRange), at: now)
    }

    /// - Parameters:
    ///   - isOverloaded: the server asked for fewer requests; otherwise a change on this side is reason enough to try
    ///     again before `retryAfter`.
    ///   - jitter: from 0 to 1, so that not all devices return at once after an outage.
    package mutating func failed(retryAfter: Duration?, isOverloaded: Bool, jitter: Double, at now: Duration) {
        changeCount = 0
        let pause = retryAfter ?? Self.failurePause + .seconds(60) * min(max(jitter, 0), 1)
        let end = now + pause.clamped(to: Self.retryRange)
        blockedUntil = isOverloaded ? end : nil
        finish(next: end, at: now)
    }

    /// There was nothing to announce.
    package mutating func skipped(at now: Duration) {
        changeCount = 0
        finish(next: now + Self.emptyPause, at: now)
    }

    private mutating func finish(next: Duration, at now: Duration) {
        guard case .announcing(let isOutdated) = state else { return }
        state = .waiting
        due = next
        if isOutdated { addressesChanged(at: now) }
    }

    /// This device's addresses have changed: a port was mapped, a relay joined, an interface came or went.
    package mutating func addressesChanged(at now: Duration) {
        guard case .waiting = state else {
            state = .announcing(isOutdated: true)
            return
        }
        changeCount = min(changeCount + 1, Self.changeLimit + 1)
        if changeCount < Self.changeLimit {
            due = unblocked(now + Self.settlingTime)
        } else if changeCount == Self.changeLimit {
            due = unblocked(now + Self.restlessPause)
        }
    }

    /// The machine is on another network, or woke up: what the servers know may be wrong.
    package mutating func networkChanged(at now: Duration) {
        guard case .waiting = state else {
            state = .announcing(isOutdated: true)
            return
        }
        due = unblocked(max(now, lastAttempt.map { $0 + Self.gap } ?? now))
    }

    private func unblocked(_ wanted: Duration) -> Duration { max(wanted, blockedUntil ?? wanted) }
}

extension Duration {
    func clamped(to range: ClosedRange<Duration>) -> Duration { min(max(self, range.lowerBound), range.upperBound) }
}
