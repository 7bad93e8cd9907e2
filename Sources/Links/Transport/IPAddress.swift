import NIOCore

/// An IPv4 or IPv6 address written as a number, with the zone of a link-local one.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// Four or sixteen bytes in network order; an IPv4 address mapped into IPv6 is kept as the four.
    package let bytes: [UInt8]
    /// The interface of a link-local IPv6 address (`eth0`, or an interface's index).
    package let zone: String?

    /// Reads `192.0.2.7`, `2001:db8::1` or `fe80::1%eth0`; nil for names and anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first else { return nil }
        guard let address = try? SocketAddress(ipAddress: String(first), port: 0) else { return nil }
        var zone: String?
        if parts.count == 2 {
            // An interface's name has at most 15 bytes.
            guard case .v6 = address, !parts[1].isEmpty, parts[1].utf8.count <= 15 else { return nil }
            guard parts[1].utf8.allSatisfy(Self.isZoneCharacter) else { return nil }
            zone = String(parts[1])
        }
        self.init(address, zone: zone)
    }

    /// The address of a socket; nil for one that is not of the internet families.
    package init?(_ address: SocketAddress) {
        var zone: String?
        if case .v6(let address) = address, address.address.sin6_scope_id != 0 {
            zone = String(address.address.sin6_scope_id)
        }
        self.init(address, zone: zone)
    }

    /// - Parameter bytes: four or sixteen, in network order; nil for other counts.
    package init?(bytes: [UInt8]) {
        guard let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0) else { return nil }
        self.init(address, zone: nil)
    }

    private init?(_ address: SocketAddress, zone: String?) {
        switch address {
        case .v4(let address):
            bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
            self.zone = nil
        case .v6(let address):
            let whole = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            let isMapped = whole.prefix(10).allSatisfy { $0 == 0 } && whole[10] == 0xFF && whole[11] == 0xFF
            bytes = isMapped ? Array(whole.suffix(4)) : whole
            self.zone = isMapped ? nil : zone
        case .unixDomainSocket:
            return nil
        }
    }

    package var isIPv4: Bool { bytes.count == 4 }

    package var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

    package var isLoopback: Bool {
        isIPv4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// Whether this is a group's address: multicast of either family, or the IPv4 broadcast.
    package var isMulticast: Bool {
        isIPv4 ? bytes[0] & 0xF0 == 0xE0 || bytes.allSatisfy { $0 == 0xFF } : bytes[0] == 0xFF
    }

    /// Whether this means something on one link only, so that an IPv6 one needs its zone.
    package var isLinkLocal: Bool {
        isIPv4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    package var description: String {
        let packed = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0)
        return (packed?.ipAddress ?? "") + (zone.map { "%" + $0 } ?? "")
    }

    private static func isZoneCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
