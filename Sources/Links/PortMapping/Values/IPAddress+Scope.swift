import NIOCore
import Transport

extension IPAddress {
    /// The address in `packed`, 4 or 16 bytes in network order; nil for any other count. An IPv4 address mapped into IPv6 is
    /// kept as its four bytes.
    package init?(packed: some Collection<UInt8>) {
        guard packed.count == 4 || packed.count == 16,
            let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: packed), port: 0)
        else { return nil }
        self.init(address)
    }

    /// The address as 16 bytes; an IPv4 address mapped into IPv6 (RFC 4291 section 2.5.5.2).
    package var mappedBytes: [UInt8] {
        isIPv4 ? [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes : bytes
    }

    /// Whether it is an IPv4 address for private networks (RFC 1918) or for one link (RFC 3927).
    package var isPrivateIPv4: Bool {
        guard isIPv4 else { return false }
        return bytes[0] == 10 || bytes[0] == 172 && bytes[1] & 0xF0 == 16 || bytes[0] == 192 && bytes[1] == 168
            || isLinkLocal
    }

    /// Whether a router with this external address is on the internet itself, not behind another one: addresses of private
    /// networks, of a provider's NAT and reserved ones are not.
    package var isOutside: Bool {
        guard isIPv4 else { return bytes[0] & 0xE0 == 0x20 }
        return !isPrivate && !isLoopback && !isMulticast && bytes[0] != 0 && bytes[0] < 240
    }

    /// Whether both are the same number; the zone, which the system writes in two ways, is not compared.
    package func isSameNumber(as other: IPAddress) -> Bool { bytes == other.bytes }
}
