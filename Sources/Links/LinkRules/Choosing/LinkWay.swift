import Transport

/// How a link gets from one device to the other, as far as it matters which link is used.
package enum LinkWay: String, Sendable, Hashable, CaseIterable {
    /// TCP to this machine, over the link itself, or within a network that this machine has an address in.
    case localTCP
    /// TCP to anywhere else.
    case wideTCP
    /// TCP to a relay, which forwards it.
    case relay
    case l2cap
    case gatt
    /// A radio in memory.
    case virtual

    /// - Parameter isLocal: whether the connected address is local; see `NetworkPrefix.isLocal`.
    package init(_ kind: LinkKind, isLocal: Bool) {
        switch kind {
        case .tcp: self = isLocal ? .localTCP : .wideTCP
        case .relay: self = .relay
        case .l2cap: self = .l2cap
        case .gatt: self = .gatt
        case .virtual: self = .virtual
        }
    }

    /// Links of a better tier replace those of a worse one whatever was measured. The lowest is the best.
    ///
    /// Both ends see the same tier, which they need to choose the same link: whether TCP is local, one end may see differently
    /// than the other, where there is a NAT between them. A direct path is better than a relay at any rate: the relay is
    /// somebody else's.
    package var tier: Int {
        switch self {
        case .localTCP, .wideTCP: 0
        case .relay, .l2cap: 1
        case .gatt: 2
        case .virtual: 3
        }
    }

    /// Which of two links is kept that have come up at the same moment: the same on both ends, so by nothing that only one
    /// of them knows. The lowest is the best.
    package var crossingRank: Int {
        switch self {
        case .localTCP, .wideTCP: 0
        case .relay: 1
        case .l2cap: 2
        case .gatt: 3
        case .virtual: 4
        }
    }

    /// What is expected before anything was measured, in bytes per second.
    package var expectedRate: Double {
        switch self {
        case .localTCP: 50_000_000
        case .wideTCP: 5_000_000
        // Public relays limit the rate of a session; 1 MB/s is in the middle of what was seen.
        case .relay: 1_000_000
        case .l2cap: 100_000
        case .gatt: 15_000
        case .virtual: 10_000
        }
    }

    /// Whether several links to one device may go this way at once. A relay has one session for a device, a radio one
    /// channel.
    package var mayBeOneOfSeveral: Bool { self == .localTCP || self == .wideTCP }

    /// Whether it uses the radio of this machine, which costs energy.
    package var isRadio: Bool { self == .l2cap || self == .gatt || self == .virtual }
}

/// Names a link among those to one device; never given twice.
package struct LinkNumber: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }
    package init(_ number: Int) { rawValue = number }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    package var description: String { "#\(rawValue)" }
}

/// A link as the rules see it.
package struct LinkView: Sendable, Equatable {
    package var number: LinkNumber
    package var way: LinkWay
    /// Whether this device dialled it.
    package var isOurs: Bool
    /// When it came up.
    package var since: Duration

    package init(_ number: LinkNumber, way: LinkWay, isOurs: Bool, since: Duration) {
        self.number = number
        self.way = way
        self.isOurs = isOurs
        self.since = since
    }
}

/// What a link is worth, in bytes per second: what was measured or is expected, and what it costs.
package struct LinkWorth: Sendable, Equatable {
    /// A link for which somebody pays has to be so many times as fast as one that is free.
    static let meteredDivisor = 16.0
    /// The bounds within which a measurement is trusted. A link that was hardly used seems slow.
    static let slowest = 1000.0
    static let fastest = 10_000_000_000.0

    package var way: LinkWay
    /// What the last link of this way to the device carried while it was busy, in bytes per second; nil if none was.
    package var measuredRate: Double?
    /// Whether the connection underneath is paid for by what is sent.
    package var isMetered: Bool
    /// What the user allows over it, in bytes per second; nil for no limit.
    package var limit: Double?

    package init(_ way: LinkWay, measuredRate: Double? = nil, isMetered: Bool = false, limit: Double? = nil) {
        self.way = way
        self.measuredRate = measuredRate
        self.isMetered = isMetered
        self.limit = limit
    }

    package var rate: Double {
        var rate = way.expectedRate
        if let measuredRate, measuredRate.isFinite, measuredRate > 0 { rate = measuredRate }
        if let limit, limit.isFinite, limit > 0 { rate = min(rate, limit) }
        rate = min(max(rate, Self.slowest), Self.fastest)
        return isMetered ? rate / Self.meteredDivisor : rate
    }

    /// Whether it is enough of an improvement to leave a link that works: of a better tier, or 1.5 times as fast within the
    /// same one. A difference within the noise of the measurement is none.
    package func isUpgrade(over other: LinkWorth) -> Bool {
        if way.tier != other.way.tier { return way.tier < other.way.tier }
        return rate >= other.rate * 1.5
    }
}
