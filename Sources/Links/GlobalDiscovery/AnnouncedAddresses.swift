import Transport

/// What a device tells discovery servers about itself.
package enum AnnouncedAddresses {
    /// How many addresses are announced at most.
    package static let limit = 32

    /// The addresses to announce, of those at which this device listens, mapped ports and relays included: each once, in
    /// their order.
    ///
    /// A host left open stays open: the server fills in the address that it sees. A relay keeps its host, port and `id`
    /// alone, as its token would let strangers join it. Bluetooth, loopback, multicast and interface-bound addresses are
    /// never announced.
    /// - Parameter includesLocal: whether private addresses are announced, which the server and everyone who asks then
    ///   learn.
    package static func announced(_ addresses: [String], includesLocal: Bool) -> [String] {
        var announced: [String] = []
        for text in addresses {
            guard announced.count < limit, var address = DiscoveryAddress(text), !address.isUseless,
                includesLocal || address.ip?.isPrivate != true
            else { continue }
            switch address.kind {
            case .tcp:
                if address.host.isEmpty { address.host = address.scheme == "tcp6" ? "::" : "0.0.0.0" }
                address.rest = ""
            case .relay:
                guard !address.isUnspecified else { continue }
                address.rest = address.parameter("id").map { "/?id=\($0)" } ?? "/"
            }
            if !announced.contains(address.description) { announced.append(address.description) }
        }
        return announced
    }
}
