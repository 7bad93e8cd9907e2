/// What carries a link.
package enum LinkKind: String, Sendable, Hashable, CaseIterable, Codable {
    case tcp
    /// TCP to a relay, which forwards it.
    case relay
    /// A connection-oriented Bluetooth LE channel.
    case l2cap
    /// Bluetooth LE writes and notifications, for peers without L2CAP channels.
    case gatt
    /// A radio in memory, for tests and demonstrations.
    case virtual

    /// Whether its rate is such that people notice what else is sent over it: tens of kilobytes a second, not megabytes.
    package var isSlow: Bool { self != .tcp && self != .relay }

    /// Whether anybody nearby can connect or listen: then a link says nothing of this device to those that it does not
    /// know.
    package var isOverheard: Bool { isSlow }
}

/// Where a connected link leads, as the transport that made it knows.
package struct LinkInformation: Sendable, Hashable {
    package var kind: LinkKind
    /// The other end, as people and logs read it: `tcp://192.0.2.7:51234`.
    package var remoteAddress: String
    /// Whether this side dialled; the side that dialled is the TLS client.
    package var isInitiator: Bool

    package init(kind: LinkKind, remoteAddress: String, isInitiator: Bool) {
        self.kind = kind
        self.remoteAddress = remoteAddress
        self.isInitiator = isInitiator
    }
}
