import Glibc
import Transport

/// Which addresses are in a network that this machine has an address in, as Syncthing takes a local network to be.
package enum LocalNetworks {
    /// An interface's address with its mask, both of 4 or 16 bytes.
    package struct Network: Equatable, Sendable {
        package var address: [UInt8]
        package var mask: [UInt8]

        package func contains(_ other: [UInt8]) -> Bool {
            guard other.count == address.count, mask.count == address.count else { return false }
            return zip(zip(address, other), mask).allSatisfy { pair, mask in pair.0 & mask == pair.1 & mask }
        }
    }

    /// Whether a link's other end is in one of `networks`, on this machine, or only reached over the link itself.
    static func contain(_ address: LinkAddress, networks: [Network]) -> Bool {
        guard let address = address.ipAddress else { return false }
        return address.isLoopback || address.isLinkLocal || networks.contains { $0.contains(address.bytes) }
    }

    /// Those that this machine has an address in now; none if the system does not say.
    ///
    /// Not by NIO's `System.enumerateDevices`, which does not tell a point-to-point interface without a far address.
    package static func current() -> [Network] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var networks: [Network] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            // A point-to-point interface, such as a tunnel, is no network that others are in.
            guard entry.ifa_flags & UInt32(IFF_UP) != 0,
                entry.ifa_flags & UInt32(IFF_POINTOPOINT) == 0,
                let address = bytes(entry.ifa_addr), let mask = bytes(entry.ifa_netmask)
            else { continue }
            networks.append(Network(address: address, mask: mask))
        }
        return networks
    }

    private static func bytes(_ address: UnsafeMutablePointer<sockaddr>?) -> [UInt8]? {
        guard let address else { return nil }
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin6_addr) { Array($0) }
            }
        default: return nil
        }
    }
}
