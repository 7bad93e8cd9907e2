import Transport

/// What of the ways to a device may be dialled, as the user has set it and as the connection underneath is now.
package struct DialPolicy: Sendable, Equatable {
    package var isPaused = false
    package var allowsRelays = true
    /// Off for Tor: what is dialled over TCP goes through the proxy, and without one nothing is.
    package var allowsDirect = true
    /// Whether there is a reason to use the radio now.
    package var allowsRadio = false
    /// Whether links over TCP take a proxy, which resolves names, those of Tor as well.
    package var hasProxy = false
    package var allowed = AllowedNetworks()

    package init() {}

    /// For a name, the address that it led to is to be checked again when the link is connected.
    func allow(_ target: DialTarget) -> Bool { obstacle(to: target) == nil }

    /// What forbids dialling it; nil if nothing does.
    func obstacle(to target: DialTarget) -> DialObstacle? {
        guard !isPaused else { return .paused }
        switch target.kind {
        case .radio: return allowsRadio ? nil : .idleRadio
        case .relay:
            guard allowsRelays else { return .relaysOff }
            // Where the link would lead is the relay's to say; its name is all that is known of it before and after.
            guard target.ipAddress != nil || allowed.isEmpty else { return .relayName }
        case .tcp:
            guard allowsDirect || hasProxy else { return .directOff }
        }
        return target.ipAddress.map(allowed.allow) ?? true ? nil : .network
    }
}

/// Why an address is not dialled.
package enum DialObstacle: String, Sendable, Hashable, CaseIterable {
    /// No links are wanted with the device at the moment.
    case paused
    /// The radio is off until it is needed.
    case idleRadio
    case relaysOff
    case directOff
    /// The address is outside the networks that are allowed for the device.
    case network
    /// The address of a relay is a name, which cannot be compared with those networks.
    case relayName
}

extension DialPlan {
    /// Where a name leads that it must not lead to.
    package enum NameProblem: Equatable, Sendable {
        /// To what is not the address of a device.
        case noDevice(IPAddress)
        /// Out of the networks that are allowed for the device.
        case excluded(IPAddress)
    }

    /// What is in the way of using a link that a dial has led to; nil if nothing is. Only a name can lead elsewhere than was
    /// checked before the dial.
    ///
    /// - Parameter remoteAddress: the other end's, as the transport knows it; the name itself where a proxy has resolved it.
    package static func problem(
        of attempt: Attempt, connectedTo remoteAddress: String, policy: DialPolicy?
    ) -> NameProblem? {
        guard attempt.target.kind == .tcp, attempt.target.ipAddress == nil,
            case .tcp(_, let port)? = try? LinkAddress(parsing: remoteAddress),
            let address = try? LinkAddress(parsing: remoteAddress).ipAddress
        else { return nil }
        if AddressSanity.problem(connectedTo: address, port: port, from: attempt.source) != nil {
            return .noDevice(address)
        }
        guard policy?.allowed.allow(address) ?? true else {
            return .excluded(address)
        }
        return nil
    }
}

/// Targets that are dialled together. Each group has a head start before the next.
package enum DialGroup: Int, Sendable, Hashable, CaseIterable, Comparable {
    case local
    case wide
    case relay
    case radio

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    init(_ target: DialTarget, from source: AddressSource, networks: [NetworkPrefix]) {
        switch target.kind {
        case .radio: self = .radio
        case .relay: self = .relay
        case .tcp:
            let isLocal =
                target.ipAddress.map { NetworkPrefix.isLocal($0, networks: networks) }
                ?? (target.host == "localhost" || target.host.hasSuffix(".local"))
            self = isLocal ? .local : .wide
        }
    }

    /// The ways that its links may go; over a radio that is known only when the device was asked.
    var ways: Set<LinkWay> {
        switch self {
        case .local: [.localTCP]
        case .wide: [.wideTCP]
        case .relay: [.relay]
        case .radio: [.l2cap, .gatt, .virtual]
        }
    }
}

/// How many dials are under way to all devices together. A value for the one who performs the dials.
package struct DialBudget: Sendable {
    package static let limit = 64

    package private(set) var underWay = 0

    package init() {}

    /// False if there is no room: the plan is told that the dial failed with `noRoom`.
    package mutating func take() -> Bool {
        guard underWay < Self.limit else { return false }
        underWay += 1
        return true
    }

    package mutating func give() { underWay = max(0, underWay - 1) }
}
