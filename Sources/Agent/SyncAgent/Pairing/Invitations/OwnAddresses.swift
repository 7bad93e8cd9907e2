import NIOCore
import Transport

/// The addresses of this machine at which others may reach it.
enum OwnAddresses {
    /// Where another device may reach this one, as far as this one knows: for a port of all addresses, those that the machine has.
    static func dialable(_ listening: [LinkAddress]) -> [LinkAddress] {
        listening.flatMap { address -> [LinkAddress] in
            guard address.isUnspecified, case .tcp(_, let port) = address else {
                return address.isDialable ? [address] : []
            }
            return all().map { .tcp(host: $0, port: port) }
        }
    }

    /// IPv4 before IPv6, without those that are true on this machine or one cable alone; empty where none can be listed.
    static func all() -> [String] {
        let devices = (try? System.enumerateDevices()) ?? []
        let addresses = devices.compactMap { $0.address.flatMap { IPAddress($0) } }
            .filter { !$0.isLoopback && !$0.isLinkLocal && !$0.isUnspecified && !$0.isMulticast }
        return (addresses.filter(\.isIPv4) + addresses.filter { !$0.isIPv4 }).map(\.description)
    }
}
