import PortMapping

/// The networks of this machine when servers, relays and routers were asked last. Pure.
///
/// The system also tells of addresses and routes that stay as they are: each router advertisement renews the lifetimes of IPv6
/// addresses, in some networks every few seconds.
struct SeenNetworks {
    private var last: NetworkView

    init(_ first: NetworkView) { last = first }

    /// Whether an address or a default route is another than at the last call; the time until which an address is valid is none of it.
    mutating func haveChanged(to current: NetworkView) -> Bool {
        defer { last = current }
        return current != last
    }
}
