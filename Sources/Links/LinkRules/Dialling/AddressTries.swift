/// Why a dial led to no link.
package enum DialFailure: String, Sendable, Equatable {
    /// No answer, refused, no such host, TLS failed: all that a network can do.
    case unreachable
    /// This device itself answered.
    case ourself
    /// Another device answered.
    case otherDevice
    /// The name led to an address that must not be used.
    case notAllowed
    /// The peer closed the link before its Hello: it has enough, or does not know this device.
    case refusedByPeer
    /// Too many dials to all devices are under way.
    case noRoom
    /// This device no longer wanted it.
    case cancelled
}

/// When each address may be dialled again.
struct AddressTries: Sendable {
    static let direct: Duration = .seconds(20)
    static let longestDirect: Duration = .seconds(60)
    static let relay: Duration = .seconds(60)
    /// After the first failures. Of two that join a session at the same instant, Syncthing's relay server may drop one, and nothing
    /// else is wrong then.
    static let firstRelay: [Duration] = [.seconds(5), .seconds(20)]
    static let longestRelay: Duration = .seconds(600)
    /// An address at which somebody else answered is left alone for so long: one that others named, and one of the user's.
    static let wrongDevice: Duration = .seconds(3600)
    static let wrongConfiguredDevice: Duration = .seconds(600)
    /// However many events say so, an address is not dialled more often.
    static let shortest: Duration = .seconds(2)
    /// Addresses that are remembered.
    static let limit = 256

    private struct Try {
        var due: Duration
        var started: Duration?
        var failures = 0
        /// Somebody else is there: nothing but another network, or time, changes that.
        var isWrong = false
        /// It has led to a link, and was not dialled since.
        var hasLinked = false
    }

    private var tries: [DialTarget: Try] = [:]

    func due(_ target: DialTarget) -> Duration { tries[target]?.due ?? .zero }

    mutating func started(_ target: DialTarget, at now: Duration) {
        if tries[target] == nil, tries.count >= Self.limit { prune(now) }
        tries[target, default: Try(due: now)].started = now
        tries[target]?.hasLinked = false
    }

    /// - Parameters:
    ///   - isUpgrade: A link is in use: the address is tried steadily, so that a better way is taken soon after it opens.
    ///   - jitter: 0..<1.
    mutating func failed(
        _ entry: AddressBook.Entry, _ failure: DialFailure, isUpgrade: Bool, jitter: Double, at now: Duration
    ) {
        guard var last = tries[entry.target] else { return }
        var pause: Duration
        switch failure {
        case .ourself, .otherDevice, .notAllowed:
            last.isWrong = true
            pause = entry.source == .configured ? Self.wrongConfiguredDevice : Self.wrongDevice
        case .noRoom:
            last.due = now + .milliseconds(500) + .seconds(1) * jitter
            tries[entry.target] = last
            return
        case .cancelled: pause = Self.first(entry.target)
        case .refusedByPeer: pause = Self.first(entry.target)
        case .unreachable:
            pause = isUpgrade ? Self.first(entry.target) : Self.pause(entry.target, failures: last.failures)
            last.failures = min(last.failures + 1, 20)
        }
        pause += pause * jitter / 4
        // From the start: a dial that hung has waited already.
        last.due = max((last.started ?? now) + pause, now + Self.shortest)
        tries[entry.target] = last
    }

    mutating func linked(_ target: DialTarget, at now: Duration) {
        tries[target] = Try(due: now + Self.first(target), started: now, hasLinked: true)
    }

    /// All may be dialled now.
    ///
    /// - Parameter isNewNetwork: Who answered where was so in the old one.
    mutating func reset(isNewNetwork: Bool, at now: Duration) {
        for (target, last) in tries where isNewNetwork || !last.isWrong {
            var next = last
            next.failures = 0
            next.isWrong = false
            next.due = min(last.due, max(now, (last.started ?? now) + Self.shortest))
            // A link that has lost its network is replaced at once, however young it is.
            if isNewNetwork, last.isWrong || last.hasLinked { next.due = now }
            tries[target] = next
        }
    }

    private static func first(_ target: DialTarget) -> Duration { target.kind == .relay ? relay : direct }

    private static func pause(_ target: DialTarget, failures: Int) -> Duration {
        // 2, 4, 8, 15, 20, 30, 45, 60 s; 5, 20, 60, 120, 240, 480, 600 s.
        guard target.kind != .relay else {
            return failures < firstRelay.count
                ? firstRelay[failures] : min(longestRelay, relay * (1 << min(failures - firstRelay.count, 5)))
        }
        let growth = [0.1, 0.2, 0.4, 0.75, 1.0, 1.5, 2.25, 3.0]
        return min(longestDirect, direct * growth[min(failures, growth.count - 1)])
    }

    /// Makes room: what is due anyway goes first, then what is due next. Somebody who names ever new addresses does not
    /// thereby clear those of which is known that they are wrong.
    private mutating func prune(_ now: Duration) {
        let order = tries.sorted { left, right in
            let (wrong, otherWrong) = (left.value.isWrong ? 1 : 0, right.value.isWrong ? 1 : 0)
            return (wrong, left.value.due, left.key.text) < (otherWrong, right.value.due, right.key.text)
        }
        for (target, _) in order.prefix(Self.limit / 4) { tries[target] = nil }
    }
}
