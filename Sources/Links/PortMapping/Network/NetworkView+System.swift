import Glibc
import KernelFiles
import Transport

extension NetworkView {
    /// The networks of this machine now. What the system does not say is missing.
    package static func current() -> NetworkView {
        var interfaces: [Interface] = []
        func add(_ address: LocalAddress, to name: String) {
            if let index = interfaces.firstIndex(where: { $0.name == name }) {
                interfaces[index].addresses.append(address)
            } else {
                interfaces.append(Interface(name: name, addresses: [address]))
            }
        }
        for (name, address) in ipv4Addresses() { add(address, to: name) }
        for (name, address) in ipv6Addresses(KernelFile.text(at: "/proc/net/if_inet6") ?? "") { add(address, to: name) }
        return NetworkView(
            interfaces: interfaces,
            defaultRoutes: RouteTable.ipv4(KernelFile.text(at: "/proc/net/route") ?? "")
                + RouteTable.ipv6(KernelFile.text(at: "/proc/net/ipv6_route") ?? ""))
    }

    private static func ipv4Addresses() -> [(String, LocalAddress)] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var addresses: [(String, LocalAddress)] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard entry.ifa_flags & UInt32(IFF_UP) != 0, entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0,
                let bytes = ipv4Bytes(entry.ifa_addr), let mask = ipv4Bytes(entry.ifa_netmask),
                let address = IPAddress(packed: bytes)
            else { continue }
            let prefix = mask.reduce(0) { $0 + $1.nonzeroBitCount }
            addresses.append((String(cString: entry.ifa_name), LocalAddress(address, prefixLength: prefix)))
        }
        return addresses
    }

    private static func ipv4Bytes(_ address: UnsafeMutablePointer<sockaddr>?) -> [UInt8]? {
        guard let address, Int32(address.pointee.sa_family) == AF_INET else { return nil }
        return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
            withUnsafeBytes(of: address.pointee.sin_addr) { Array($0) }
        }
    }
}
