import BlockExchange

/// What the servers said about devices, and whom to ask next: a bounded cache with one entry per device and server.
///
/// Times are durations since any fixed moment.
package struct LookupTable: Sendable {
    /// A server's word.
    package enum Outcome: Equatable, Sendable {
        case found(LookupAnswer)
        /// It does not know the device.
        case notFound(retryAfter: Duration?)
        /// It could not be asked, or its answer is useless.
        case failed(retryAfter: Duration?)
        /// Nobody asked it after all: the task was cancelled.
        case abandoned
    }

    private struct Entry: Sendable {
        var addresses: [String] = []
        /// Until when the addresses are good for a dial, though they may be stale.
        var usableUntil = Duration.zero
        /// When the server may be asked again.
        var nextLookup = Duration.zero
        var lastAsked: Duration?
        var isAsked = false
        /// An event has made the pause void, once.
        var isExempt = false
    }

    private struct Device: Sendable {
        var entries: [Entry]
        var lastWanted: Duration
        var isAsked: Bool { entries.contains(where: \.isAsked) }
        /// No server asked to be left alone about it for longer, and no event is to be followed.
        func isDue(at now: Duration) -> Bool { entries.allSatisfy { now >= $0.nextLookup && !$0.isExempt } }
    }

    private struct Server: Sendable {
        var failureCount = 0
        var blockedUntil = Duration.zero
    }

    package static let hitLifetime = Duration.seconds(300)
    package static let missRange = Duration.seconds(60)...Duration.seconds(3600)
    /// Servers keep announcements for two hours.
    package static let usableLifetime = Duration.seconds(7200)
    /// Least time between two lookups of a device at one server, whatever happens.
    package static let gap = Duration.seconds(10)
    /// A server that fails is left alone for twice as long each time, up to this.
    package static let failureLimit = Duration.seconds(900)

    /// About 300 bytes each and server, besides addresses.
    package static let usualDeviceLimit = 10_000

    private let deviceLimit: Int
    private var devices: [DeviceID: Device] = [:]
    /// Those for whom there was no place. One that is due gives its place to one of them, so that each has its turn.
    private var waiting: Set<DeviceID> = []
    private var servers: [Server]

    /// - Parameters:
    ///   - serverCount: the servers are numbered from zero.
    ///   - deviceLimit: a full table takes a device only in place of one that would have to be asked about again anyway:
    ///     what it forgets, it would ask again.
    package init(serverCount: Int, deviceLimit: Int = Self.usualDeviceLimit) {
        self.deviceLimit = max(1, deviceLimit)
        servers = Array(repeating: Server(), count: serverCount)
    }

    package var deviceCount: Int { devices.count }

    /// Where `device` was at the last word of each server; never what is older than `usableLifetime`.
    package func addresses(of device: DeviceID, at now: Duration) -> [String] {
        let entries = devices[device]?.entries ?? []
        return LookupAnswer.union(entries.map { $0.usableUntil > now ? $0.addresses : [] })
    }

    /// Whether servers are being asked about `device`.
    package func isAsked(_ device: DeviceID) -> Bool { devices[device]?.isAsked == true }

    /// The servers to ask about `device` now, none if what is known is fresh enough. They count as asked until `finished`.
    package mutating func begin(_ device: DeviceID, at now: Duration) -> [Int] {
        if let known = devices[device], !known.isAsked, known.isDue(at: now), known.lastWanted < now,
            waiting.count > deviceLimit - devices.count
        {
            devices[device] = nil
            return []
        }
        guard makePlace(for: device, at: now), var known = devices[device] else { return [] }
        var chosen: [Int] = []
        for index in servers.indices where !known.entries[index].isAsked {
            let entry = known.entries[index]
            let isDue = now >= entry.nextLookup && now >= servers[index].blockedUntil
            let isExempt = entry.isExempt && now >= (entry.lastAsked.map { $0 + Self.gap } ?? now)
            guard isDue || isExempt else { continue }
            known.entries[index].isAsked = true
            known.entries[index].isExempt = false
            known.entries[index].lastAsked = now
            chosen.append(index)
        }
        known.lastWanted = now
        devices[device] = known
        return chosen
    }

    /// A server's word has come.
    ///
    /// - Returns: whether the device's addresses have changed by it.
    package mutating func finished(_ device: DeviceID, server: Int, _ outcome: Outcome, at now: Duration) -> Bool {
        guard servers.indices.contains(server) else { return false }
        noteServer(server, outcome, at: now)
        guard var known = devices[device], known.entries[server].isAsked else { return false }
        let before = addresses(of: device, at: now)
        known.entries[server].isAsked = false
        switch outcome {
        case .found(let answer):
            known.entries[server].addresses = answer.addresses
            known.entries[server].usableUntil = now + Self.usableLifetime
            known.entries[server].nextLookup = now + Self.hitLifetime
        case .notFound(let retryAfter):
            known.entries[server].addresses = []
            known.entries[server].nextLookup = now + Self.pause(retryAfter)
        case .failed(let retryAfter):
            known.entries[server].nextLookup = now + Self.pause(retryAfter)
        case .abandoned:
            known.entries[server].lastAsked = nil
        }
        devices[device] = known
        return addresses(of: device, at: now) != before
    }

    /// Devices that were looked up and not found.
    package func missing(at now: Duration) -> [DeviceID] {
        devices.filter { known in
            known.value.entries.contains { $0.lastAsked != nil }
                && known.value.entries.allSatisfy { !$0.isAsked && $0.usableUntil <= now }
        }.keys.sorted()
    }

    /// Nobody asks any more: what was under way has ended without an answer.
    package mutating func abandonAll() {
        for device in devices.keys {
            for index in servers.indices where devices[device]?.entries[index].isAsked == true {
                devices[device]?.entries[index].isAsked = false
                devices[device]?.entries[index].lastAsked = nil
            }
        }
    }

    /// The user has just paired or asked for `device`: each server may be asked about it once, whatever it said before. In a
    /// full table, the device that nobody has wanted for longest gives way.
    package mutating func allowLookup(of device: DeviceID, at now: Duration) {
        guard makePlace(for: device, at: now, isUrgent: true) else { return }
        for index in servers.indices { devices[device]?.entries[index].isExempt = true }
    }

    /// The network has changed or the machine woke up: each server may be asked about each device once.
    package mutating func allowAllLookups() {
        for index in servers.indices { servers[index] = Server() }
        for device in devices.keys {
            for index in servers.indices { devices[device]?.entries[index].isExempt = true }
        }
    }

    /// When the next server may be asked about `device`; nil for one that the table does not have.
    package func nextLookup(of device: DeviceID) -> Duration? {
        devices[device]?.entries.enumerated().map { index, entry in
            entry.isExempt
                ? entry.lastAsked.map { $0 + Self.gap } ?? .zero : max(entry.nextLookup, servers[index].blockedUntil)
        }.min()
    }

    package mutating func remove(_ device: DeviceID) {
        devices[device] = nil
        waiting.remove(device)
    }

    /// Until when a server that fails is left alone; nil for one that works.
    package func pauseEnd(ofServer server: Int) -> Duration? {
        servers.indices.contains(server) && servers[server].failureCount > 0 ? servers[server].blockedUntil : nil
    }

    private mutating func noteServer(_ server: Int, _ outcome: Outcome, at now: Duration) {
        switch outcome {
        case .found, .notFound:
            servers[server] = Server()
        case .failed(let retryAfter):
            // Lookups that ran at the same time failed for the same reason, and count once.
            if servers[server].failureCount == 0 || now >= servers[server].blockedUntil {
                servers[server].failureCount = min(servers[server].failureCount + 1, 5)
            }
            let backoff = Duration.seconds(30) * (1 << servers[server].failureCount)
            let asked = retryAfter.map { $0.clamped(to: Self.missRange) } ?? .zero
            servers[server].blockedUntil = now + max(asked, min(backoff, Self.failureLimit))
        case .abandoned:
            break
        }
    }

    private static func pause(_ retryAfter: Duration?) -> Duration {
        (retryAfter ?? missRange.lowerBound).clamped(to: missRange)
    }

    /// False when the table is full of devices about which servers are being asked, or are not to be asked yet.
    private mutating func makePlace(for device: DeviceID, at now: Duration, isUrgent: Bool = false) -> Bool {
        if devices[device] != nil { return true }
        if devices.count >= deviceLimit {
            let replaceable = devices.lazy.filter { !$0.value.isAsked && (isUrgent || $0.value.isDue(at: now)) }
            guard let oldest = replaceable.min(by: { $0.value.lastWanted < $1.value.lastWanted }) else {
                if waiting.count < deviceLimit { waiting.insert(device) }
                return false
            }
            devices[oldest.key] = nil
        }
        waiting.remove(device)
        devices[device] = Device(entries: Array(repeating: Entry(), count: servers.count), lastWanted: now)
        return true
    }
}
