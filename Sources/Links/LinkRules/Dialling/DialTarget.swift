import Transport

/// An address that is dialled: over TCP, through a relay, or by radio. Two are equal if they lead to the same place.
package struct DialTarget: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, Hashable {
        case tcp
        case relay
        case radio
    }

    /// Longest text that is read of a relay's address, whose parameters are many.
    static let maximumByteCount = 1024
    /// A relay's port if its address names none.
    static let defaultRelayPort: UInt16 = 22067

    package let kind: Kind
    /// A name in lower case, a number, or a radio address; of a relay: the relay's.
    package let host: String
    /// Zero for a radio.
    package let port: UInt16
    /// What is dialled, as it stands in the configuration: `tcp://192.0.2.7:22000`. Of a relay's parameters only its id.
    package let text: String

    /// Reads an address that anybody may have written.
    ///
    /// - Throws: `invalidAddress`, or `unsupportedAddress` for schemes that are not dialled. `dynamic` is no address.
    package init(parsing text: String) throws(LinkRuleError) {
        guard text.utf8.count <= Self.maximumByteCount else {
            throw LinkRuleError(.invalidAddress, "an address is longer than \(Self.maximumByteCount) bytes")
        }
        let scheme = "relay://"
        if text.hasPrefix(scheme) {
            self = try Self.relay(text.dropFirst(scheme.count), in: text)
            return
        }
        switch try Self.address(text) {
        case .tcp(let host, let port): self.init(.tcp, host, port)
        case .bluetooth(let address): self.init(radio: address, text: "ble://" + address)
        case .virtual(let name): self.init(radio: name, text: "virtual://" + name)
        default:
            throw LinkRuleError(.unsupportedAddress, "cannot dial \(LinkRuleError.quoted(text)); use tcp://HOST:PORT")
        }
    }

    private init(_ kind: Kind, _ host: String, _ port: UInt16, parameters: String = "") {
        self.kind = kind
        // The zone of an address is an interface's name: `enP2p1s0` is another than `enp2p1s0`.
        self.host = IPAddress(host)?.description ?? host.lowercased()
        self.port = port
        let authority = self.host.contains(":") ? "[\(self.host)]:\(port)" : "\(self.host):\(port)"
        text = "\(kind.rawValue)://\(authority)\(parameters)"
    }

    private init(radio address: String, text: String) {
        kind = .radio
        host = address
        port = 0
        self.text = text
    }

    package var ipAddress: IPAddress? { kind == .radio ? nil : IPAddress(host) }
    package var description: String { text }

    package static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.port == right.port && left.host == right.host
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(host)
        hasher.combine(port)
    }

    // MARK: -

    private static func address(_ text: String) throws(LinkRuleError) -> LinkAddress {
        do {
            return try LinkAddress(parsing: text)
        } catch {
            throw LinkRuleError(
                error.code == .unsupportedAddress ? .unsupportedAddress : .invalidAddress, error.text)
        }
    }

    private static func relay(_ rest: Substring, in text: String) throws(LinkRuleError) -> DialTarget {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let hasPort = (authority.split(separator: "]", omittingEmptySubsequences: false).last ?? authority).contains(
            ":")
        guard case .tcp(let host, let port) = try address("tcp://" + authority), !host.isEmpty else {
            throw LinkRuleError(
                .invalidAddress, "\(LinkRuleError.quoted(text)) names no relay; write relay://HOST:PORT/?id=ID")
        }
        let parameters = relayID(rest.dropFirst(authority.count)).map { "/?id=" + $0 } ?? ""
        return DialTarget(.relay, host, hasPort ? port : defaultRelayPort, parameters: parameters)
    }

    /// The relay's device id, of all parameters the only one that a dial needs; nil for none or one that cannot be an id.
    private static func relayID(_ rest: Substring) -> String? {
        guard let query = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
        else { return nil }
        for pair in query.prefix(while: { $0 != "#" }).split(separator: "&", maxSplits: 16) where pair.hasPrefix("id=")
        {
            let id = pair.dropFirst(3)
            let isID = (52...63).contains(id.utf8.count) && id.utf8.allSatisfy(isIDCharacter)
            return isID ? String(id) : nil
        }
        return nil
    }

    private static func isIDCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "2")...UInt8(ascii: "7"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
