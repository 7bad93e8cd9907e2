import NIOCore
import Phrases

/// Where a device is dialled or listened for, in the text form that the configuration and BEP share.
package enum LinkAddress: Hashable, Sendable, CustomStringConvertible {
    /// Wherever discovery finds the device.
    case dynamic
    /// A name or number without brackets, and a port. An empty host stands for all addresses of this machine when
    /// listening; port zero for any free one.
    case tcp(host: String, port: UInt16)
    /// A device that has joined a relay, by the relay's address.
    case relay(RelayAddress)
    /// A Bluetooth device, by its address in upper case: `C0:FF:EE:00:00:01`.
    case bluetooth(String)
    /// A device on the radio in memory, by its name there.
    case virtual(String)

    /// Whether links to it are slow; see `LinkKind.isSlow`.
    package var isSlow: Bool {
        switch self {
        case .dynamic, .tcp, .relay: false
        case .bluetooth, .virtual: true
        }
    }

    /// BEP's port over TCP.
    package static let defaultPort: UInt16 = 22000

    /// Longest text that is read; a DNS name has at most 253 bytes.
    static let maximumByteCount = 300

    /// Reads `tcp://HOST[:PORT]`, `tcp://[IPv6]:PORT`, `tcp://:PORT`, the same with `tcp4` or `tcp6`, `relay://HOST:PORT/?id=ID`,
    /// `ble://AA:BB:CC:DD:EE:FF`, `virtual://NAME` or `dynamic`. Throws `invalidAddress` for what is none, and `unsupportedAddress` for `quic://` and
    /// other schemes that a Syncthing peer may announce.
    package init(parsing text: String) throws(LinkError) {
        if text.hasPrefix("relay://") {
            self = .relay(try RelayAddress(parsing: text))
            return
        }
        guard text.utf8.count <= Self.maximumByteCount else {
            throw Self.invalid(
                String(text.prefix(40)) + "…", Phrase("it is longer than \(Self.maximumByteCount) bytes"))
        }
        if text == "dynamic" {
            self = .dynamic
            return
        }
        guard let separator = text.firstRange(of: "://") else {
            throw Self.invalid(text, Phrase("write tcp://HOST:PORT, or the word dynamic"))
        }
        let rest = text[separator.upperBound...]
        switch text[..<separator.lowerBound] {
        // Syncthing's names for one family alone: the host says which it is.
        case "tcp", "tcp4", "tcp6": self = try Self.tcp(rest, in: text)
        case "ble": self = try Self.bluetooth(rest, in: text)
        case "virtual":
            guard !rest.isEmpty, rest.utf8.allSatisfy(Self.isNameCharacter) else {
                throw Self.invalid(text, Phrase("a virtual name has letters, digits, dots, dashes and underscores"))
            }
            self = .virtual(String(rest))
        default:
            throw LinkError(
                .unsupportedAddress,
                "the address “\(Self.printable(text))” has an unsupported scheme; use tcp://HOST:PORT",
                isTransient: false)
        }
    }

    /// The TCP address of a connected or bound socket; nil for one that is not of the internet families.
    package init?(_ address: SocketAddress) {
        guard let ip = IPAddress(address), let port = address.port.flatMap(UInt16.init(exactly:)) else { return nil }
        self = .tcp(host: ip.description, port: port)
    }

    package var description: String {
        switch self {
        case .dynamic: "dynamic"
        case .tcp(let host, let port): host.contains(":") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)"
        case .relay(let relay): relay.announcement
        case .bluetooth(let address): "ble://\(address)"
        case .virtual(let name): "virtual://\(name)"
        }
    }

    /// The number in a TCP address; nil for a name, for no host and for other kinds.
    package var ipAddress: IPAddress? {
        guard case .tcp(let host, _) = self else { return nil }
        return IPAddress(host)
    }

    /// Whether a TCP address stands for all addresses of a machine: no host, `0.0.0.0` or `[::]`.
    package var isUnspecified: Bool {
        guard case .tcp(let host, _) = self else { return false }
        return host.isEmpty || ipAddress?.isUnspecified == true
    }

    /// Whether one can dial it: a single machine and a port.
    package var isDialable: Bool {
        switch self {
        case .dynamic: false
        case .tcp(_, let port): port != 0 && !isUnspecified && ipAddress?.isMulticast != true
        case .relay, .bluetooth, .virtual: true
        }
    }

    private static func tcp(_ rest: Substring, in text: String) throws(LinkError) -> LinkAddress {
        // Syncthing writes a path or query behind some addresses; nothing in them matters for TCP.
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let authority = rest[..<end]
        let host: Substring
        let portText: Substring?
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else {
                throw invalid(text, Phrase("the bracket is not closed"))
            }
            host = authority[authority.index(after: authority.startIndex)..<close]
            guard host.contains(":"), IPAddress(String(host)) != nil else {
                throw invalid(text, Phrase("only an IPv6 address stands in brackets"))
            }
            let after = authority[authority.index(after: close)...]
            guard after.isEmpty || after.first == ":" else {
                throw invalid(text, Phrase("after the bracket comes :PORT"))
            }
            portText = after.isEmpty ? nil : after.dropFirst()
        } else {
            let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, let first = parts.first else {
                throw invalid(text, Phrase("write an IPv6 address in brackets, as tcp://[2001:db8::1]:22000"))
            }
            host = first
            guard host.utf8.count <= 253, host.utf8.allSatisfy(isNameCharacter) else {
                throw invalid(text, Phrase("a host name has letters, digits, dots and dashes"))
            }
            portText = parts.count == 2 ? parts[1] : nil
        }
        return .tcp(host: String(host), port: try port(portText, in: text))
    }

    private static func port(_ text: Substring?, in address: String) throws(LinkError) -> UInt16 {
        guard let text else { return defaultPort }
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(text)
        else { throw invalid(address, Phrase("the port is a number up to 65535")) }
        return port
    }

    private static func bluetooth(_ rest: Substring, in text: String) throws(LinkError) -> LinkAddress {
        let octets = rest.split(separator: ":", omittingEmptySubsequences: false)
        guard octets.count == 6, octets.allSatisfy({ $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) }),
            rest.utf8.count == 17
        else {
            throw invalid(text, Phrase("write ble:// and six pairs of hexadecimal digits with colons between them"))
        }
        return .bluetooth(rest.uppercased())
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func invalid(_ text: String, _ remedy: Phrase) -> LinkError {
        LinkError(.invalidAddress, "“\(printable(text))” is not a link address: \(remedy)", isTransient: false)
    }

    /// Peers send addresses too: no control character of theirs reaches a terminal or a log.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
    }
}
