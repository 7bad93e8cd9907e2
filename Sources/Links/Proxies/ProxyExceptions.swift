import Transport

/// The hosts that are reached without a proxy, as `NO_PROXY` lists them.
///
/// Entries are separated by commas or spaces: `*` (every host), a name (`example.org`, which stands for its subdomains
/// too), `.example.org` or `*.example.org` (the subdomains alone), an IP address, or a network (`192.168.0.0/16`). Each may have `:PORT`.
/// A name is never resolved to see whether its address is listed: that would tell a name server who is contacted.
package struct ProxyExceptions: Hashable, Sendable {
    private enum Pattern: Hashable, Sendable {
        case all
        case name(String, subdomainsOnly: Bool)
        case network(bytes: [UInt8], bitCount: Int)
    }

    private struct Entry: Hashable, Sendable {
        let pattern: Pattern
        let port: UInt16?
    }

    private let entries: [Entry]

    /// Most entries that are read.
    static let maximumCount = 1000

    package static let none = ProxyExceptions(entries: [])

    private init(entries: [Entry]) { self.entries = entries }

    /// - Parameter source: where the text comes from (`NO_PROXY`), for the message.
    /// - Throws: `invalidSettings` for any other entry: if it were skipped, a host that the user wanted
    ///   to reach directly would be told to the proxy.
    package init(parsing text: String, source: String) throws(ProxyError) {
        let parts = text.split { $0 == "," || $0.isWhitespace }
        guard parts.count <= Self.maximumCount else {
            throw ProxyError(.invalidSettings, "\(source) has more than \(Self.maximumCount) entries; use networks")
        }
        var entries: [Entry] = []
        for part in parts {
            guard let entry = Self.entry(part) else {
                throw ProxyError(
                    .invalidSettings,
                    "“\(Printable.text(part))” in \(source) is not a host; write names, IP addresses or networks as 10.0.0.0/8"
                )
            }
            entries.append(entry)
        }
        self.entries = entries
    }

    /// Whether the host is reached without a proxy. `host` is a name or a number without brackets.
    package func contain(_ host: String, port: UInt16) -> Bool {
        guard !entries.isEmpty else { return false }
        let address = IPAddress(host)
        let name = Self.normal(host)
        return entries.contains { entry in
            guard entry.port == nil || entry.port == port else { return false }
            switch entry.pattern {
            case .all: return true
            case .name(let domain, let subdomainsOnly):
                return address == nil && (name.hasSuffix("." + domain) || !subdomainsOnly && name == domain)
            case .network(let bytes, let bitCount):
                return address.map { Self.isEqual($0.bytes, bytes, bitCount: bitCount) } ?? false
            }
        }
    }

    private static func entry(_ text: Substring) -> Entry? {
        if text == "*" { return Entry(pattern: .all, port: nil) }
        if let slash = text.firstIndex(of: "/") {
            guard let address = IPAddress(String(text[..<slash])), let bits = Int(text[text.index(after: slash)...]),
                (0...address.bytes.count * 8).contains(bits)
            else { return nil }
            return Entry(pattern: .network(bytes: address.bytes, bitCount: bits), port: nil)
        }
        // An IPv6 address may stand without brackets when no port follows.
        if let address = IPAddress(String(text)) {
            return Entry(pattern: .network(bytes: address.bytes, bitCount: address.bytes.count * 8), port: nil)
        }
        let withoutStar = text.hasPrefix("*.") ? text.dropFirst() : text
        let subdomainsOnly = withoutStar.hasPrefix(".")
        guard let (host, port) = HostText.split(subdomainsOnly ? withoutStar.dropFirst() : withoutStar) else {
            return nil
        }
        if let address = IPAddress(host) {
            return Entry(pattern: .network(bytes: address.bytes, bitCount: address.bytes.count * 8), port: port)
        }
        let name = normal(host)
        return name.isEmpty ? nil : Entry(pattern: .name(name, subdomainsOnly: subdomainsOnly), port: port)
    }

    /// Lower case, without the dot at the end.
    private static func normal(_ host: String) -> String {
        let name = host.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    private static func isEqual(_ one: [UInt8], _ other: [UInt8], bitCount: Int) -> Bool {
        guard one.count == other.count else { return false }
        return zip(one, other).enumerated().allSatisfy { index, pair in
            let bits = min(max(bitCount - index * 8, 0), 8)
            let mask = bits == 0 ? 0 : UInt8.max << UInt8(8 - bits)
            return pair.0 & mask == pair.1 & mask
        }
    }
}

/// Text from outside for messages: short, without control characters.
enum Printable {
    static func text(_ text: some StringProtocol, limit: Int = 80) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(limit).map { (0x20...0x7E).contains($0.value) ? $0 : "?" }))
    }
}
