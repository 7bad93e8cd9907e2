import BlockExchange
import Transport

/// What to do with a second link to a device that has one: the same on both ends, so that two devices that dial each
/// other at the same moment settle on one link at once. Pure.
package enum LinkChoice: Equatable, Sendable {
    /// The new link becomes the only one.
    case replace
    /// The new link is closed.
    case refuse
    /// The peer decides by a rule of its own: the new link waits a moment to see which one the peer closes.
    case wait

    /// A link as this device sees it: what carries it, and whether this device dialled it.
    package struct Link: Equatable, Sendable {
        package var kind: LinkKind
        var isOurs: Bool

        package init(kind: LinkKind, isOurs: Bool) {
            self.kind = kind
            self.isOurs = isOurs
        }

        package init(_ information: LinkInformation) {
            self.init(kind: information.kind, isOurs: information.isInitiator)
        }
    }

    /// - Parameter peerKnowsRule: whether the peer is a synctrain too and decides by this same function.
    package static func decide(
        local: DeviceID, peer: DeviceID, active: Link, new: Link, peerKnowsRule: Bool
    ) -> LinkChoice {
        if new.kind.isPreferred(over: active.kind) { return .replace }
        if active.kind.isPreferred(over: new.kind) { return .refuse }
        let (activeIsOurs, newIsOurs) = (active.isOurs, new.isOurs)
        // Whoever dials again has lost the link that the other end still believes in.
        if activeIsOurs == newIsOurs { return .replace }
        guard peerKnowsRule else { return .wait }
        // Crossing dials: the link dialled by the lower device id stays.
        let newDialler = newIsOurs ? local : peer
        let activeDialler = activeIsOurs ? local : peer
        return newDialler < activeDialler ? .replace : .refuse
    }
}

/// How long to wait before a device is dialled again: one second at first, twice as long after each failure, at most a
/// minute, each time with up to a quarter more so that two devices do not stay in step. Pure.
package struct DialBackoff: Sendable {
    package static let first: Duration = .seconds(1)
    package static let longest: Duration = .seconds(60)

    private var failures = 0

    package init() {}

    /// The pause after another failure; `random` is uniform in 0..<1.
    package mutating func failed(random: Double) -> Duration {
        let pause = min(Self.longest, Self.first * (1 << min(failures, 6)))
        failures += 1
        return pause + pause * random / 4
    }

    package mutating func succeeded() { failures = 0 }
}

/// How long links with a device are refused after what it announced could not be stored: each would end as soon as it brings
/// that again, and the device's own back-off begins anew with every link that is good. Pure.
package struct StorageBackoff: Sendable {
    private var backoff = DialBackoff()
    private var end: MonotonicTime?

    package init(end: MonotonicTime? = nil) {
        self.end = end
    }

    package mutating func failed(at now: MonotonicTime, random: Double) { end = now + backoff.failed(random: random) }

    package mutating func stored() { self = StorageBackoff() }

    /// Somebody asks for a link, and may have freed space: the next is let in.
    package mutating func asked() { end = nil }

    /// How long links are refused yet; nil if they are not.
    package func pause(at now: MonotonicTime) -> Duration? {
        guard let end, end > now else { return nil }
        return end - now
    }
}
