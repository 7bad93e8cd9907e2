import BlockExchange
import Transport

/// Which devices announce themselves on the local network, and where: entries that expire, and no more than a fixed
/// number of them whatever the network says.
///
/// Time is a duration since any fixed moment.
package struct DiscoveryTable: Sendable {
    package struct Entry: Equatable, Sendable {
        package var device: DeviceID
        /// Where to dial it, in the order of its announcement, without repetition; may be empty.
        package var addresses: [LinkAddress]
        package var instanceID: Int64
        /// Whether this device is one that the user has added.
        package var isKnown: Bool
        package var expires: Duration
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

    package let entryLimit: Int
    package let lifetime: Duration
    private var entriesByDevice: [DeviceID: Entry] = [:]

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
        let addresses = Self.addresses(of: announcement, from: source)
        let entry = Entry(
            device: announcement.device, addresses: addresses, instanceID: announcement.instanceID, isKnown: isKnown,
            expires: now + lifetime)
        if let old = entriesByDevice[announcement.device], old.expires > now {
            entriesByDevice[announcement.device] = entry
            if old.instanceID != entry.instanceID { return .appeared }
            return old.addresses == entry.addresses ? .refreshed : .moved
        }
        if entriesByDevice.count >= entryLimit, entriesByDevice[announcement.device] == nil {
            removeExpired(at: now)
            if entriesByDevice.count >= entryLimit {
                guard isKnown, let stranger = entriesByDevice.values.first(where: { !$0.isKnown }) else {
                    return .refused
                }
                entriesByDevice[stranger.device] = nil
            }
        }
        entriesByDevice[announcement.device] = entry
        return .appeared
    }

    /// Where `device` can be dialled; empty when it has not announced itself for its lifetime.
    package func addresses(of device: DeviceID, at now: Duration) -> [LinkAddress] {
        guard let entry = entriesByDevice[device], entry.expires > now else { return [] }
        return entry.addresses
    }

    /// The entries alive, ordered by device.
    package func entries(at now: Duration) -> [Entry] {
        entriesByDevice.values.filter { $0.expires > now }.sorted { $0.device < $1.device }
    }

    package mutating func removeExpired(at now: Duration) {
        entriesByDevice = entriesByDevice.filter { $0.value.expires > now }
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
