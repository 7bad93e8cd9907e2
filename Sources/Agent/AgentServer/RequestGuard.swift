import ControlAPI

/// Keeps web pages of others out: they can make a browser ask this machine, but not under any name they like. Pure.
struct RequestGuard: Equatable, Sendable {
    /// Names besides `localhost` and addresses in numbers, in lower case.
    var hosts: Set<String>
    /// `http` or `https`, as the page's own origin has it.
    var scheme: String

    init(hosts: [String] = [], scheme: String = "http") {
        self.hosts = Set(hosts.map { $0.lowercased() })
        self.scheme = scheme
    }

    /// Why a request with these `Host` and `Origin` fields is refused; nil if it is not.
    func objection(hosts fields: [String], origins: [String]) -> Phrase? {
        // A page whose name was made to lead here asks under that name (DNS rebinding).
        guard fields.count == 1, let name = Self.name(ofHost: fields[0]) else {
            return Phrase("The Host header is missing or invalid.")
        }
        guard Self.isAddress(name) || name == "localhost" || hosts.contains(name) else {
            let name = name.prefix(80)
            return scheme == "http"
                ? Phrase("The host name \(name) is not allowed. Use 127.0.0.1, or add the name to `hosts` in [http].")
                : Phrase(
                    "The host name \(name) is not allowed. Use the IP address, or add the name to `hosts` in [http].")
        }
        // Browsers say which page asks when it is another's.
        guard
            origins.isEmpty || origins.count == 1 && origins[0].lowercased() == "\(scheme)://" + fields[0].lowercased()
        else { return Phrase("Requests from other sites are refused.") }
        return nil
    }

    /// The name or address in lower case, an IPv6 address in its brackets; nil for what is no `Host`.
    static func name(ofHost field: String) -> String? {
        let text = field.lowercased()
        guard text.utf8.count <= 300 else { return nil }
        let name: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            name = text[...end]
        } else {
            name = text.prefix { $0 != ":" }
        }
        let rest = text[name.endIndex...]
        guard !name.isEmpty, rest.isEmpty || isPort(rest.dropFirst()) && rest.first == ":" else { return nil }
        return String(name)
    }

    private static func isPort(_ text: Substring) -> Bool {
        (1...5).contains(text.utf8.count) && text.utf8.allSatisfy(isDigit)
    }

    /// Whether it is an address in numbers: those are nobody's to give a meaning.
    private static func isAddress(_ name: String) -> Bool {
        if name.hasPrefix("["), name.hasSuffix("]") {
            let address = name.dropFirst().dropLast()
            return address.utf8.count >= 2
                && address.utf8.allSatisfy { isDigit($0) || (0x61...0x66).contains($0) || $0 == 0x3A || $0 == 0x2E }
        }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { $0.utf8.count <= 3 && $0.utf8.allSatisfy(isDigit) && UInt8($0) != nil }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
