import Transport

/// An address as discovery servers pass it on, as far as both sides can do something with it: `tcp`, `tcp4`, `tcp6` and
/// `relay` URLs with a host and a port.
struct DiscoveryAddress: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case tcp, relay
    }

    var kind: Kind
    var scheme: String
    /// A name or a number without brackets; may be empty.
    var host: String
    var port: UInt16
    /// What follows the port, as it is written.
    var rest: String

    static let maximumByteCount = 2048

    /// Nil for other kinds (`quic`, Bluetooth, `dynamic`) and for what is malformed.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumByteCount, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let separator = text.firstRange(of: "://")
        else { return nil }
        scheme = String(text[..<separator.lowerBound])
        switch scheme {
        case "tcp", "tcp4", "tcp6": kind = .tcp
        case "relay": kind = .relay
        default: return nil
        }
        let tail = text[separator.upperBound...]
        let authority = tail.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        rest = String(tail[authority.endIndex...])
        // The parser of links knows hosts and ports; it fills in a port where there is none.
        guard authority.last != "]", authority.contains(":"),
            let address = try? LinkAddress(parsing: "tcp://\(authority)"), case .tcp(let host, let port) = address
        else { return nil }
        self.host = host
        self.port = port
    }

    var ip: IPAddress? { IPAddress(host) }

    var isUnspecified: Bool { host.isEmpty || ip?.isUnspecified == true }

    /// Whether the host means this machine or none: what another machine cannot dial, and what must not make us dial
    /// ourselves.
    var isUseless: Bool {
        if port == 0 || host.isLocalhostName { return true }
        guard let ip else { return false }
        return ip.isLoopback || ip.isMulticast || ip.zone != nil
    }

    var description: String {
        (host.contains(":") ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)") + rest
    }

    /// The value of a parameter in the query.
    func parameter(_ name: String) -> Substring? {
        guard let mark = rest.firstIndex(of: "?") else { return nil }
        let query = rest[mark...].dropFirst().prefix { $0 != "#" }
        let item = query.split(separator: "&").first { $0.hasPrefix(name + "=") }
        return item?.dropFirst(name.count + 1)
    }
}

extension IPAddress {
    /// Whether the address means something inside one network only: RFC 1918, RFC 6598 (shared by a provider's
    /// customers), link-local, and unique local IPv6 (RFC 4193).
    var isPrivate: Bool {
        if isLinkLocal { return true }
        if isIPv4 {
            switch (bytes[0], bytes[1]) {
            case (10, _), (172, 16...31), (192, 168), (100, 64...127): return true
            default: return false
            }
        }
        return bytes[0] & 0xFE == 0xFC
    }
}

extension String {
    fileprivate var isLocalhostName: Bool {
        let name = lowercased()
        return name == "localhost" || name == "localhost." || name.hasSuffix(".localhost")
    }
}
