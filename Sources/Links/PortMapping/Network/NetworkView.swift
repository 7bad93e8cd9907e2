import Transport

/// What there is of networks at one moment: addresses of this machine by interface, and default routes.
package struct NetworkView: Equatable, Sendable {
    package struct Interface: Equatable, Sendable {
        package var name: String
        package var addresses: [LocalAddress]

        package init(name: String, addresses: [LocalAddress]) {
            self.name = name
            self.addresses = addresses
        }
    }

    package var interfaces: [Interface]
    package var defaultRoutes: [RouteTable.DefaultRoute]

    package init(interfaces: [Interface], defaultRoutes: [RouteTable.DefaultRoute]) {
        self.interfaces = interfaces
        self.defaultRoutes = defaultRoutes
    }

    /// More routers than that are not asked.
    static let maximumGatewayCount = 8

    /// All addresses of this machine.
    package var ownAddresses: [IPAddress] { interfaces.flatMap { $0.addresses.map(\.address) } }

    /// The routers to ask, the most preferred first, each with the address that it is asked from.
    ///
    /// An IPv4 router is asked once, from the address in its network. An IPv6 router is asked to open its firewall for each
    /// public address of the interface that leads to it. A device with a public IPv4 address and no NAT asks as well: its
    /// router may have a firewall.
    package var gateways: [Gateway] {
        var gateways: [Gateway] = []
        for route in defaultRoutes {
            let addresses = interfaces.first { $0.name == route.interface }?.addresses ?? []
            let locals =
                route.gateway.isIPv4
                ? addresses.filter { $0.networkContains(route.gateway) }.prefix(1)
                : addresses.filter { !$0.address.isIPv4 && $0.address.isOutside }.prefix(4)
            for local in locals {
                let gateway = Gateway(address: route.gateway, interface: route.interface, local: local)
                let isOwn = ownAddresses.contains { $0.isSameNumber(as: route.gateway) }
                if !isOwn, !gateways.contains(gateway) { gateways.append(gateway) }
            }
        }
        return Array(gateways.prefix(Self.maximumGatewayCount))
    }

    /// The IPv6 addresses in the text of `/proc/net/if_inet6`, by interface, without those that are going out of use, that
    /// may be used by another machine, or that only exist for a while to hide this one.
    package static func ipv6Addresses(_ text: String) -> [(interface: String, address: LocalAddress)] {
        // linux/if_addr.h: temporary, DAD failed, deprecated, tentative.
        let unsuitable: UInt32 = 0x01 | 0x08 | 0x20 | 0x40
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(whereSeparator: \.isWhitespace)
            guard fields.count >= 6, let bytes = RouteTable.hexBytes(fields[0]), let address = IPAddress(packed: bytes),
                !address.isIPv4, let prefix = Int(fields[2], radix: 16), let flags = UInt32(fields[4], radix: 16),
                flags & unsuitable == 0
            else { return nil }
            return (String(fields[5]), LocalAddress(address, prefixLength: prefix))
        }
    }
}
