import Glibc
import LinkRules
import Transport

/// Where this machine is: the addresses that it has, and the networks that they are in.
package struct MachineNetworks: Equatable, Sendable {
    package var prefixes: [NetworkPrefix] = []
    package var addresses: Set<IPAddress> = []

    package init(prefixes: [NetworkPrefix] = [], addresses: Set<IPAddress> = []) {
        self.prefixes = prefixes
        self.addresses = addresses
    }

    /// Whether an address is in one of the networks, on this machine, or only reached over the link itself.
    package func contain(_ address: LinkAddress) -> Bool {
        address.ipAddress.map { NetworkPrefix.isLocal($0, networks: prefixes) } ?? false
    }

    /// As the system says now; empty if it does not say.
    ///
    /// Not by NIO's `System.enumerateDevices`, which does not tell a point-to-point interface without a far address.
    package static func current() -> MachineNetworks {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return MachineNetworks() }
        defer { freeifaddrs(first) }
        var networks = MachineNetworks()
        var prefixes: Set<NetworkPrefix> = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard entry.ifa_flags & UInt32(IFF_UP) != 0, let bytes = bytes(entry.ifa_addr),
                let address = IPAddress(bytes: bytes)
            else { continue }
            networks.addresses.insert(address)
            // A point-to-point interface, such as a tunnel, is no network that others are in.
            guard entry.ifa_flags & UInt32(IFF_POINTOPOINT) == 0, let mask = Self.bytes(entry.ifa_netmask),
                let prefix = NetworkPrefix(address, mask: mask)
            else { continue }
            prefixes.insert(prefix)
        }
        networks.prefixes = prefixes.sorted { $0.description < $1.description }
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
