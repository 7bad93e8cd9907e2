import Transport

/// Who said that a device is to be found at an address. What is said by others than the user is a hint: nothing but the
/// device's certificate decides who is there.
package enum AddressSource: String, Sendable, Hashable, CaseIterable, Comparable {
    /// The user, in the configuration.
    case configured
    /// A packet on the local network.
    case local
    /// The device that introduced it.
    case introduced
    /// A discovery server.
    case global

    package static func < (left: Self, right: Self) -> Bool { left.order < right.order }

    /// In this order addresses are kept where there are too many.
    private var order: Int {
        switch self {
        case .configured: 0
        case .local: 1
        case .introduced: 2
        case .global: 3
        }
    }
}

/// Whether an address may be dialled at all. Pure; names are not resolved.
///
/// An address that others send makes this device open a connection, so it must not become a way to reach what only this machine
/// or its network can (SSRF). What is sent there is a TLS ClientHello, and no answer of another protocol goes back to the one who sent
/// the address.
package enum AddressSanity {
    package enum Problem: String, Sendable, Equatable {
        case noPort
        case unspecified
        case multicast
        /// Reserved, or an IPv4 address in an IPv6 one by which it could pass for another.
        case unusable
        /// This machine, said by somebody else.
        case loopback
        /// Means something on one link only, and nothing when it comes from a server.
        case linkLocal
        /// A port below 1024 in a private network: another service, hardly a device.
        case privateService
        /// A name that a resolver may read as a number: `127.1`, `0x7f.1`.
        case numericName
        /// A name for this machine.
        case localName
        /// A name that only Tor resolves, and no proxy is set up.
        case onion
        /// A private address, said by somebody else, where only the proxy connects: it is in another network there.
        case behindProxy
    }

    /// What is in the way of dialling a target; nil if nothing is.
    ///
    /// A user may dial anything that is one machine and one port, this machine as well. Private addresses from a discovery server
    /// are dialled, as Syncthing does: in a company with a server of its own these are the only ones, and over a VPN they work;
    /// but there only ports from 1024 on.
    ///
    /// - Parameters:
    ///   - hasProxy: names go to a proxy.
    ///   - isProxyOnly: everything does. What others say is in this network is none of the proxy's business then.
    package static func problem(
        _ target: DialTarget, from source: AddressSource, hasProxy: Bool = false, isProxyOnly: Bool = false
    ) -> Problem? {
        guard target.kind != .radio else { return nil }
        guard target.port != 0 else { return .noPort }
        guard !target.host.isEmpty else { return .unspecified }
        guard let address = target.ipAddress else {
            return problem(name: target.host, from: source, hasProxy: hasProxy)
        }
        if address.isUnspecified { return .unspecified }
        if address.isMulticast { return .multicast }
        guard source != .configured else { return nil }
        if address.isLoopback { return .loopback }
        if address.isUnusable { return .unusable }
        if address.isLinkLocal, source != .local || (!address.isIPv4 && address.zone == nil) { return .linkLocal }
        if address.isPrivate, target.port < 1024 { return .privateService }
        return address.isPrivate && isProxyOnly ? .behindProxy : nil
    }

    /// The same for the address that a name led to; to be asked when the link is connected and before anything is sent.
    package static func problem(connectedTo address: IPAddress, port: UInt16, from source: AddressSource) -> Problem? {
        if address.isUnspecified { return .unspecified }
        if address.isMulticast { return .multicast }
        guard source != .configured else { return nil }
        if address.isLoopback { return .loopback }
        return address.isPrivate && port < 1024 ? .privateService : nil
    }

    private static func problem(name: String, from source: AddressSource, hasProxy: Bool) -> Problem? {
        let labels = name.split(separator: ".")
        guard let last = labels.last else { return .unspecified }
        // As URLs have it: a last label that is a number makes the whole a number, which `IPAddress` did not read.
        let isNumber = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
        if isNumber { return .numericName }
        if last == "onion", !hasProxy { return .onion }
        if source != .configured, last == "localhost" || name == "ip6-localhost" { return .localName }
        return nil
    }
}
