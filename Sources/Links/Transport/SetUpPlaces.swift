/// The links of a listener that are being set up, and which of them has to make room for a new one. Pure.
///
/// A new link is always accepted. A device completes its handshake within a few round trips: what has been silent for
/// longest is the least likely to become a link, and where one address has most of the places, what it keeps silent goes
/// first, so that it cannot keep others from connecting.
struct SetUpPlaces<Key: Hashable> {
    /// All places, and those that one address may have.
    struct Limits: Equatable, Sendable {
        var all: Int
        var perAddress: Int
    }

    private let limits: Limits
    /// Oldest first.
    private var places: [(key: Key, address: AddressGroup)] = []

    init(limits: Limits) {
        self.limits = Limits(all: max(1, limits.all), perAddress: max(1, limits.perAddress))
    }

    var count: Int { places.count }

    /// Takes a place.
    ///
    /// - Returns: the link that has to be closed for it: the oldest of the same address if that has all it may have, else the
    ///   oldest of the address that has most if all places are taken.
    mutating func add(_ key: Key, from address: AddressGroup) -> Key? {
        defer { places.append((key, address)) }
        if places.count(where: { $0.address == address }) >= limits.perAddress {
            return removeOldest(of: address)
        }
        guard places.count >= limits.all else { return nil }
        let counts = Dictionary(places.map { ($0.address, 1) }, uniquingKeysWith: +)
        let most = counts.values.max() ?? 0
        return places.first { counts[$0.address] == most }.flatMap { removeOldest(of: $0.address) }
    }

    /// Frees the place of a link that is set up, or has ended. Nothing happens if it has none.
    mutating func remove(_ key: Key) { places.removeAll { $0.key == key } }

    private mutating func removeOldest(of address: AddressGroup) -> Key? {
        places.firstIndex { $0.address == address }.map { places.remove(at: $0).key }
    }
}

/// Addresses that one person has as many of as they like: one IPv4 address, or the 64-bit network of an IPv6 address. All
/// that have no internet address are one group.
package struct AddressGroup: Hashable, Sendable {
    private let bytes: [UInt8]

    package var isInternet: Bool { !bytes.isEmpty }

    package init(_ address: IPAddress?) {
        guard let address else {
            bytes = []
            return
        }
        bytes = address.isIPv4 ? address.bytes : Array(address.bytes.prefix(8))
    }

    /// Of a link's other end.
    ///
    /// - Parameter remoteAddress: as in `LinkInformation`; the host of a relay for a link over it.
    package init(remoteAddress: String) {
        switch try? LinkAddress(parsing: remoteAddress) {
        case .tcp(let host, _)?: self.init(IPAddress(host))
        case .relay(let relay)?: self.init(IPAddress(relay.host))
        default: self.init(nil)
        }
    }
}
