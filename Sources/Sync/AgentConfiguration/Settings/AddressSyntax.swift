import LinkRules
import Phrases
import Trimming

/// What an address in the configuration may look like.
package enum AddressSyntax {
    package static let defaultPort = 22000

    /// The address that a person means by what they typed: with the scheme and the port that they left out.
    ///
    /// `192.168.1.5`, `nas.local:22001`, `[fe80::1%eth0]`, `fe80::1`, `:22000` and `tcp://nas` become `tcp://HOST:PORT` with
    /// BEP's port, `AA:BB:CC:DD:EE:FF` becomes `ble://…`. Anything else is given back as it is, to be refused or taken by others.
    package static func completed(_ text: String) -> String {
        let typed = text.trimmed
        guard typed.utf8.count <= 300, !typed.isEmpty, typed != "dynamic", typed != "default" else { return typed }
        if let scheme = typed.firstRange(of: "://") {
            guard ["tcp", "tcp4", "tcp6"].contains(typed[..<scheme.lowerBound]) else { return typed }
            return withPort(typed[scheme.upperBound...]).map { "\(typed[..<scheme.upperBound])\($0)" } ?? typed
        }
        if isBluetooth("ble://" + typed) { return "ble://" + typed }
        return withPort(typed[...]).map { "tcp://\($0)" } ?? typed
    }

    /// `host:port`, the host in brackets where it is an IPv6 address; nil for what is neither host nor `host:port`.
    private static func withPort(_ text: Substring) -> String? {
        if text.first == ":" { return hostAndPort("localhost" + text, needsPort: true) == nil ? nil : String(text) }
        // With two colons or more it is an IPv6 address, and what is behind the last is no port of it.
        let isBareIPv6 = text.first != "[" && text.utf8.count { $0 == UInt8(ascii: ":") } > 1
        let host = isBareIPv6 ? "[\(text)]"[...] : text
        guard let (_, port) = hostAndPort(host, needsPort: false) else { return nil }
        return port == nil ? "\(host):\(defaultPort)" : String(host)
    }

    /// Nil if `text` is `dynamic` (asked of discovery), `tcp://host:port`, `relay://host:port/?id=…`,
    /// `ble://AA:BB:CC:DD:EE:FF` or `virtual://name`, else what is wrong and what to write.
    package static func problem(deviceAddress text: String) -> Phrase? {
        if text == "dynamic" || isBluetooth(text) || isVirtual(text) { return nil }
        if text.hasPrefix("relay://") { return ServerSyntax.problem(relay: text) }
        guard let (host, port) = split(text) else {
            return hasTooLargePort(text) ? tooLargePort(text) : unrecognised(text)
        }
        guard port > 0 else {
            return Phrase("the address `\(text)` has port 0; give the port that the device listens on")
        }
        guard !isWildcard(host) else { return noDevice(text) }
        return problem(dialling: text, at: host)
    }

    /// Nil if the address `text` with that host is dialled, else what keeps it from that.
    private static func problem(dialling text: String, at host: String) -> Phrase? {
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            return Phrase(
                "the name in the address `\(text)` has other letters than a to z; use its form with `xn--` or the IP address"
            )
        }
        guard let target = try? DialTarget(parsing: text) else { return unrecognised(text) }
        switch AddressSanity.problem(target, from: .configured, hasProxy: true) {
        case nil: return nil
        case .numericName:
            return Phrase("`\(host)` in the address `\(text)` is not an IP address, which has four numbers up to 255")
        default: return noDevice(text)
        }
    }

    private static func noDevice(_ text: String) -> Phrase {
        Phrase("the address `\(text)` is not the address of a device; use the device's own address, or `dynamic`")
    }

    private static func unrecognised(_ text: String) -> Phrase {
        Phrase(
            "unrecognised address `\(text)`; use `dynamic` or `tcp://HOST:PORT`, "
                + "with an IPv6 address in brackets: `tcp://[fe80::1%eth0]:22000`")
    }

    /// Nil if `text` is `tcp://:port` for all addresses of this machine, `tcp://address:port` for one, or a name on the
    /// virtual radio, else what is wrong and what to write. Port 0 lets the system choose one. A host's name is refused:
    /// it may change its meaning.
    package static func problem(listenAddress text: String) -> Phrase? {
        if ["relay://", "dynamic+http://", "dynamic+https://"].contains(where: text.hasPrefix) {
            return Phrase("`\(text.prefix(120))` is a relay; list it under `servers` of `[relays]`")
        }
        if portOnly(text) != nil || isVirtual(text) { return nil }
        if let (host, _) = split(text), host == "localhost" || host.contains(":") || isIPv4(host) { return nil }
        if hasTooLargePort(text) { return tooLargePort(text) }
        return Phrase(
            "the address `\(text)` cannot be listened on; use `tcp://:\(defaultPort)` for all addresses of this "
                + "device, or one of them in numbers, such as `tcp://192.0.2.7:\(defaultPort)`")
    }

    private static func tooLargePort(_ text: String) -> Phrase {
        Phrase("the port of the address `\(text)` is too large; ports are numbers up to 65535")
    }

    /// Whether `text` ends with a number above 65535, and would be an address with a port in its place.
    private static func hasTooLargePort(_ text: String) -> Bool {
        guard let colon = text.lastIndex(of: ":") else { return false }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit), UInt16(digits) == nil else { return false }
        let other = String(text[..<colon]) + ":1"
        return portOnly(other) != nil || split(other) != nil
    }

    /// The port of `tcp://:port`.
    static func portOnly(_ text: String) -> Int? {
        let prefix = "tcp://:"
        guard text.hasPrefix(prefix) else { return nil }
        return split("tcp://localhost:" + text.dropFirst(prefix.count))?.port
    }

    /// Whether `text` is `virtual://name`.
    private static func isVirtual(_ text: String) -> Bool {
        let prefix = "virtual://"
        guard text.hasPrefix(prefix), text.utf8.count <= 200 else { return false }
        let name = text.utf8.dropFirst(prefix.utf8.count)
        return !name.isEmpty && name.allSatisfy { $0 < 0x80 && isHostByte($0) }
    }

    private static func isIPv4(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { $0.utf8.count <= 3 && $0.utf8.allSatisfy(isDigit) && UInt8($0) != nil }
    }

    static func isWildcard(_ host: String) -> Bool { host == "0.0.0.0" || host == "::" }

    /// The host, without the brackets of an IPv6 address, and the port of `tcp://host:port`.
    static func split(_ text: String) -> (host: String, port: Int)? {
        let scheme = "tcp://"
        guard text.hasPrefix(scheme), text.utf8.count <= 300 else { return nil }
        guard let (host, port) = hostAndPort(text.dropFirst(scheme.count), needsPort: true), let port else {
            return nil
        }
        return (host, port)
    }

    /// The host, without the brackets of an IPv6 address, and the port of `host:port`, or of `host` where none is needed.
    static func hostAndPort(_ text: Substring, needsPort: Bool) -> (host: String, port: Int?)? {
        var host = text
        var port: Int?
        // Inside brackets a colon separates no port.
        if let colon = text.lastIndex(of: ":"), needsPort || !text.hasSuffix("]") {
            let digits = text[text.index(after: colon)...]
            guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ isDigit($0) }),
                let number = Int(digits), number <= 65535
            else { return nil }
            (host, port) = (text[..<colon], number)
        } else if needsPort {
            return nil
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            let address = host.prefix { $0 != "%" }
            // What is in brackets may be anything that a person typed with several colons.
            guard address.contains(":"), (try? DialTarget(parsing: "tcp://[\(address)]:1"))?.ipAddress != nil else {
                return nil
            }
            let zone = host.dropFirst(address.count)
            guard zone.isEmpty || (zone.count > 1 && zone.dropFirst().utf8.allSatisfy(isHostByte)) else { return nil }
        } else {
            guard !host.isEmpty, host.utf8.allSatisfy(isHostByte) else { return nil }
        }
        return (String(host), port)
    }

    /// Whether `text` is `ble://AA:BB:CC:DD:EE:FF`.
    private static func isBluetooth(_ text: String) -> Bool {
        let scheme = "ble://"
        guard text.hasPrefix(scheme) else { return false }
        let octets = text.dropFirst(scheme.count).split(separator: ":", omittingEmptySubsequences: false)
        return octets.count == 6
            && octets.allSatisfy { $0.utf8.count == 2 && $0.utf8.allSatisfy { isHexDigit($0) } }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte | 0x20) }
    /// Letters, digits, `-`, `.`, `_` and the bytes of other scripts.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x2E || byte == 0x5F
            || byte >= 0x80
    }
}
