import Glibc

/// Which addresses are in a network that this machine has an address in, as Syncthing takes a local network to be.
enum LocalNetworks {
    /// An interface's address with its mask, both of 4 or 16 bytes.
    struct Network: Equatable, Sendable {
        var address: [UInt8]
        var mask: [UInt8]

        func contains(_ other: [UInt8]) -> Bool {
            guard other.count == address.count, mask.count == address.count else { return false }
            return zip(zip(address, other), mask).allSatisfy { pair, mask in pair.0 & mask == pair.1 & mask }
        }
    }

    /// Whether a link's other end is in one of `networks`, on this machine, or only reached over the link itself.
    ///
    /// - Parameter address: `tcp://HOST:PORT` or `HOST:PORT`, the host a number.
    static func contain(_ address: String, networks: [Network]) -> Bool {
        guard let bytes = number(of: address) else { return false }
        if bytes.count == 4 {
            if bytes[0] == 127 || bytes[0] == 169 && bytes[1] == 254 { return true }
        } else {
            let isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
            if isLoopback || bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 { return true }
        }
        return networks.contains { $0.contains(bytes) }
    }

    /// The 4 or 16 bytes of the host; of an IPv4 address that is written as one of IPv6, 4.
    static func number(of address: String) -> [UInt8]? {
        var host = address.hasPrefix("tcp://") ? address.dropFirst(6) : address[...]
        if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") { host = host[..<colon] }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        host = host.prefix { $0 != "%" }
        let text = String(host)
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
        var sixteen = in6_addr()
        guard inet_pton(AF_INET6, text, &sixteen) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: sixteen) { Array($0) }
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isMapped ? Array(bytes[12...]) : bytes
    }

    /// Those that this machine has an address in now; none if the system does not say.
    static func current() -> [Network] {
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
