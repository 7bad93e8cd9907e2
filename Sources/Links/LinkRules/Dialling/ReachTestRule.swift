import BlockExchange
import Transport

/// Which addresses this device dials for a device that asks it to test how it is reached. Pure.
///
/// The test must not show one device the network of another: an address in a private network, or in a network of this machine, is
/// dialled only for a device whose link comes from the same network. Names are not dialled: they could lead there, too.
package struct ReachTestRule: Sendable {
    package enum Decision: Equatable, Sendable {
        /// - Parameter isSeen: The host is the one that the link comes from, which the device cannot know.
        case dial(LinkAddress, isSeen: Bool)
        case leave(ReachAnswer.Outcome)
    }

    /// Where the link of the device that asks comes from; nil if that does not show its own address.
    private let remote: IPAddress?
    private let networks: [NetworkPrefix]
    private let allowed: AllowedNetworks
    private let hasProxy: Bool

    /// - Parameters:
    ///   - link: the one over which the device asks.
    ///   - networks: those that this machine has an address in.
    ///   - allowed: where the user allows links with the device.
    ///   - hasProxy: Connections of this device take a proxy; what that reaches says nothing of this device's view.
    package init(
        link: LinkInformation, networks: [NetworkPrefix], allowed: AllowedNetworks, hasProxy: Bool
    ) {
        remote = link.kind == .tcp ? (try? LinkAddress(parsing: link.remoteAddress))?.ipAddress : nil
        self.networks = networks
        self.allowed = allowed
        self.hasProxy = hasProxy
    }

    package func decision(on text: String) -> Decision {
        guard !hasProxy else { return .leave(.proxy) }
        guard let address = try? LinkAddress(parsing: text), case .tcp(_, let port) = address, port != 0 else {
            return .leave(.unusable)
        }
        guard address.isUnspecified else { return decision(on: address, port, isSeen: false) }
        guard let remote, address.ipAddress.map({ $0.isIPv4 == remote.isIPv4 }) ?? true else {
            return .leave(.unknownHost)
        }
        return decision(on: .tcp(host: remote.description, port: port), port, isSeen: true)
    }

    private func decision(on address: LinkAddress, _ port: UInt16, isSeen: Bool) -> Decision {
        guard let ip = address.ipAddress, ip.zone == nil, let target = try? DialTarget(parsing: address.description),
            AddressSanity.problem(target, from: .global) == nil
        else { return .leave(.unusable) }
        if ip.isPrivate || networks.contains(where: { $0.contains(ip) }) {
            // Other services of a network have these ports, wherever its addresses are valid.
            guard port >= 1024 else { return .leave(.unusable) }
            guard isNeighbour(ip) else { return .leave(.privateAddress) }
        }
        return allowed.allow(ip) ? .dial(.tcp(host: ip.description, port: port), isSeen: isSeen) : .leave(.notAllowed)
    }

    /// Whether the link comes from that address, or from the same network of this machine.
    private func isNeighbour(_ ip: IPAddress) -> Bool {
        guard let remote else { return false }
        return ip == remote || networks.contains { $0.contains(remote) && $0.contains(ip) }
    }
}

/// How often a device may have its addresses tested. A value; its owner makes the tests.
package struct ReachTestQuota: Sendable {
    /// Between the beginnings of two tests.
    static let interval: Duration = .seconds(10)

    private var last: Duration?
    private var isUnderWay = false

    package init() {}

    /// Why no test may begin now; nil if one has begun, which ends with `end`.
    package mutating func begin(at now: Duration) -> ReachAnswer.Refusal? {
        guard !isUnderWay else { return .busy }
        if let last, now - last < Self.interval { return .tooSoon }
        last = now
        isUnderWay = true
        return nil
    }

    package mutating func end() { isUnderWay = false }
}
