import BlockExchange
import Transport

/// Which devices announce themselves on the local network, and where: entries that expire, and no more than a fixed
/// number of them whatever the network says.
///
/// Time is a duration since any fixed moment.
package struct DiscoveryTable: Sendable {
    package struct Entry: Equatable, Sendable {
        package var device: DeviceID
        /// Where to dial it, without repetition; may be empty.
        package var addresses: [LinkAddress]
        /// Whether this device is one that the user has added.
        package var isKnown: Bool
    }

    /// What an announcement changed.
    package enum Change: Equatable, Sendable {
        /// Nothing but the time until which the entry lives.
        case refreshed
        case moved
        /// The device was not there, or its agent has restarted: it has not heard us either.
        case appeared
        /// The table is full of entries that matter more.
        case refused
    }

    /// What came from one address of a device. One that has several, as of IPv4 and of IPv6, announces itself from each, and what
    /// comes from one says nothing against the others.
    private struct Origin: Sendable {
        var source: IPAddress
        var addresses: [LinkAddress]
        /// A Syncthing has another for each family.
        var instanceID: Int64
        var expires: Duration
    }

    private struct Announced: Sendable {
        var isKnown: Bool
        /// In the order in which they were heard first; none is empty.
        var origins: [Origin]

        var expires: Duration { origins.map(\.expires).max() ?? .zero }

        /// By turns, so that no origin crowds out the others.
        func addresses(at now: Duration) -> [LinkAddress] {
            let lists = origins.filter { $0.expires > now }.map(\.addresses)
            var addresses: [LinkAddress] = []
            for row in 0..<(lists.map(\.count).max() ?? 0) {
                for list in lists where row < list.count && !addresses.contains(list[row]) {
                    addresses.append(list[row])
                }
            }
            return Array(addresses.prefix(DiscoveryAnnouncement.addressLimit))
        }

        /// Takes an announcement, in the place of the last from the same source, or of the oldest where there are too many.
        mutating func take(_ origin: Origin, at now: Duration) {
            origins.removeAll { $0.expires <= now }
            if let index = origins.firstIndex(where: { $0.source == origin.source }) {
                origins[index] = origin
                return
            }
            let oldest = origins.indices.min { origins[$0].expires < origins[$1].expires }
            if origins.count >= DiscoveryTable.originLimit, let oldest { origins.remove(at: oldest) }
            origins.append(origin)
        }
    }

    /// From so many addresses of one device announcements are kept.
    static let originLimit = 4

    package let entryLimit: Int
    package let lifetime: Duration
    private var announced: [DeviceID: Announced] = [:]

    package init(entryLimit: Int = 1000, lifetime: Duration = .seconds(90)) {
        self.entryLimit = entryLimit
        self.lifetime = lifetime
    }

    /// Takes an announcement in.
    ///
    /// - Parameters:
    ///   - source: the sender's IP address, which stands for every host that the announcement leaves open.
    ///   - isKnown: whether the user has added this device. In a full table it takes the place of one that is not.
    package mutating func receive(
        _ announcement: DiscoveryAnnouncement, from source: IPAddress, isKnown: Bool, at now: Duration
    ) -> Change {
        let device = announcement.device
        let origin = Origin(
            source: source, addresses: Self.addresses(of: announcement, from: source),
            instanceID: announcement.instanceID, expires: now + lifetime)
        if let old = announced[device], old.expires > now {
            var new = old
            new.isKnown = isKnown
            new.take(origin, at: now)
            announced[device] = new
            let isSameRun = old.origins.contains { $0.instanceID == origin.instanceID && $0.expires > now }
            guard isSameRun else { return .appeared }
            return old.addresses(at: now) == new.addresses(at: now) ? .refreshed : .moved
        }
        if announced.count >= entryLimit, announced[device] == nil {
            removeExpired(at: now)
            if announced.count >= entryLimit {
                guard isKnown, let stranger = announced.first(where: { !$0.value.isKnown })?.key else {
                    return .refused
                }
                announced[stranger] = nil
            }
        }
        announced[device] = Announced(isKnown: isKnown, origins: [origin])
        return .appeared
    }

    /// Where `device` can be dialled; empty when it has not announced itself for the lifetime of an entry.
    package func addresses(of device: DeviceID, at now: Duration) -> [LinkAddress] {
        announced[device]?.addresses(at: now) ?? []
    }

    /// The entries alive, ordered by device.
    package func entries(at now: Duration) -> [Entry] {
        announced.filter { $0.value.expires > now }.sorted { $0.key < $1.key }.map { device, announced in
            Entry(device: device, addresses: announced.addresses(at: now), isKnown: announced.isKnown)
        }
    }

    package mutating func removeExpired(at now: Duration) {
        announced = announced.filter { $0.value.expires > now }
    }

    /// The dialable addresses of an announcement: hosts left open filled in, and those dropped that lead nowhere or back
    /// to the machine that reads them.
    static func addresses(of announcement: DiscoveryAnnouncement, from source: IPAddress) -> [LinkAddress] {
        var addresses: [LinkAddress] = []
        for text in announcement.addresses.prefix(DiscoveryAnnouncement.addressLimit) {
            guard var address = try? LinkAddress(parsing: text), case .tcp(let host, let port) = address else {
                continue
            }
            if address.isUnspecified {
                address = .tcp(host: source.description, port: port)
            } else if host.isLocalhostName || address.ipAddress?.isLoopback == true {
                continue
            } else if let ip = address.ipAddress, ip.isLinkLocal, !ip.isIPv4 {
                // A zone is only true on the machine that wrote it; ours is the interface that the datagram came by.
                guard let zone = source.zone else { continue }
                address = .tcp(host: ip.description.prefix { $0 != "%" } + "%" + zone, port: port)
            }
            if address.isDialable, !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
