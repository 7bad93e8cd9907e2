import Transport

/// What a mapping carries, as IANA numbers it.
package enum MappedTransport: UInt8, Sendable, Hashable, CustomStringConvertible {
    case tcp = 6
    case udp = 17

    package var description: String { self == .tcp ? "TCP" : "UDP" }
}

/// A port that this device listens on and that others shall reach.
package struct ListenedPort: Sendable, Hashable, CustomStringConvertible {
    package var transport: MappedTransport
    package var number: UInt16

    package init(_ transport: MappedTransport = .tcp, _ number: UInt16) {
        self.transport = transport
        self.number = number
    }

    package var description: String { "\(transport) \(number)" }
}

/// How a router is asked to map a port.
package enum MappingMethod: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case pcp = "PCP"
    case natPMP = "NAT-PMP"
    case upnp = "UPnP"

    package var description: String { rawValue }
}

/// A router between this device and the internet, and the address of this device that it is reached from.
package struct Gateway: Sendable, Hashable, CustomStringConvertible {
    package var address: IPAddress
    /// The interface's name, such as `eth0`.
    package var interface: String
    package var local: LocalAddress

    package init(address: IPAddress, interface: String, local: LocalAddress) {
        self.address = address
        self.interface = interface
        self.local = local
    }

    package var description: String { address.description }
}

/// An address of this machine and the network that it is in.
package struct LocalAddress: Sendable, Hashable {
    package var address: IPAddress
    /// How many leading bits of the address name the network: 0 to 32, or 0 to 128.
    package var prefixLength: Int

    package init(_ address: IPAddress, prefixLength: Int) {
        self.address = address
        self.prefixLength = min(max(prefixLength, 0), address.bytes.count * 8)
    }

    /// Whether `other` is in the same network. An IPv4 address is never in an IPv6 network.
    package func networkContains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        var bits = prefixLength
        for (own, its) in zip(address.bytes, other.bytes) {
            guard bits > 0 else { return true }
            let mask: UInt8 = bits >= 8 ? 0xFF : ~(0xFF >> UInt8(bits))
            if own & mask != its & mask { return false }
            bits -= 8
        }
        return true
    }
}

/// What a router maps to a listened port.
package struct PortMappingGrant: Sendable, Equatable {
    package var method: MappingMethod
    /// Where others reach the port; nil if the router did not say.
    package var externalAddress: IPAddress?
    package var externalPort: UInt16
    /// How long the mapping holds unless renewed; nil: until it is deleted.
    package var lease: Duration?

    /// Whether the external address means something on the internet. Unknown counts as public: discovery servers see the
    /// true one.
    package var isPublic: Bool { externalAddress.map(\.isOutside) ?? true }
}
