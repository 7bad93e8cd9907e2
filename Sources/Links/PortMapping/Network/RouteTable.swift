import Transport

/// The default routes of the system, from the text of `/proc/net/route` and `/proc/net/ipv6_route` (proc(5)).
package enum RouteTable {
    package struct DefaultRoute: Equatable, Hashable, Sendable {
        package var gateway: IPAddress
        package var interface: String
        /// The smaller, the more the system prefers it.
        package var metric: UInt32

        package init(gateway: IPAddress, interface: String, metric: UInt32) {
            self.gateway = gateway
            self.interface = interface
            self.metric = metric
        }
    }

    private static let isUp: UInt32 = 0x1
    private static let hasGateway: UInt32 = 0x2
    private static let rejects: UInt32 = 0x200

    /// The default routes in `/proc/net/route`, most preferred first. Lines that cannot be read are passed over.
    package static func ipv4(_ text: String) -> [DefaultRoute] {
        let routes = text.split(separator: "\n").dropFirst().compactMap { line -> DefaultRoute? in
            let fields = line.split(whereSeparator: \.isWhitespace)
            guard fields.count >= 8, fields[1] == "00000000", fields[7] == "00000000",
                let gateway = UInt32(fields[2], radix: 16), gateway != 0, let flags = UInt32(fields[3], radix: 16),
                flags & (isUp | hasGateway) == isUp | hasGateway, flags & rejects == 0,
                // The number is the four bytes as this machine reads them from memory.
                let address = IPAddress(packed: withUnsafeBytes(of: gateway) { Array($0) })
            else { return nil }
            return DefaultRoute(
                gateway: address, interface: String(fields[0]), metric: UInt32(fields[6]) ?? 0)
        }
        return routes.sorted { $0.metric < $1.metric }
    }

    /// The default routes in `/proc/net/ipv6_route`, most preferred first, with the interface as zone of link-local gateways.
    package static func ipv6(_ text: String) -> [DefaultRoute] {
        let routes = text.split(separator: "\n").compactMap { line -> DefaultRoute? in
            let fields = line.split(whereSeparator: \.isWhitespace)
            guard fields.count >= 10, fields[0].allSatisfy({ $0 == "0" }), fields[1] == "00",
                let flags = UInt32(fields[8], radix: 16), flags & (isUp | hasGateway) == isUp | hasGateway,
                flags & rejects == 0, let bytes = hexBytes(fields[4]), let address = IPAddress(packed: bytes),
                !address.isUnspecified, !address.isIPv4
            else { return nil }
            let interface = String(fields[9])
            guard let gateway = address.isLinkLocal ? IPAddress("\(address)%\(interface)") : address else { return nil }
            return DefaultRoute(gateway: gateway, interface: interface, metric: UInt32(fields[5], radix: 16) ?? 0)
        }
        return routes.sorted { $0.metric < $1.metric }
    }

    /// Pairs of hexadecimal digits; nil for anything else.
    static func hexBytes(_ text: Substring) -> [UInt8]? {
        let digits = text.compactMap { $0.isASCII ? $0.hexDigitValue : nil }
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
