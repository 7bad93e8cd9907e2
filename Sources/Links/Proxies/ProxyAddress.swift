import Transport

/// A proxy as its address names it: `socks5://[USER:PASSWORD@]HOST[:PORT]`, `http://…` or `https://…`.
package struct ProxyAddress: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// SOCKS version 5 (RFC 1928); the proxy resolves names.
        case socks5
        /// The CONNECT method of HTTP/1.1 (RFC 9110, section 9.3.6).
        case http
        /// The same inside TLS.
        case https

        var defaultPort: UInt16 {
            switch self {
            case .socks5: 1080
            case .http: 80
            case .https: 443
            }
        }
    }

    package let kind: Kind
    /// A name or a number without brackets.
    package let host: String
    package let port: UInt16
    package let credentials: ProxyCredentials?

    /// Longest address that is read, in bytes.
    static let maximumByteCount = 2048

    package init(kind: Kind, host: String, port: UInt16, credentials: ProxyCredentials? = nil) {
        self.kind = kind
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// Reads an address. `socks5h` and `socks` mean `socks5`; user and password may be percent-encoded.
    ///
    /// - Parameters:
    ///   - source: where the text comes from (`ALL_PROXY`), for the message. The text itself is never quoted, as it may
    ///     hold a password.
    ///   - assumedKind: the kind of an address without scheme; nil demands one.
    /// - Throws: `invalidSettings`.
    package init(parsing text: String, source: String, assumedKind: Kind? = nil) throws(ProxyError) {
        func invalid(_ reason: String) -> ProxyError {
            ProxyError(
                .invalidSettings,
                "the proxy in \(source) cannot be used: \(reason); write socks5://[USER:PASSWORD@]HOST:PORT or http://…"
            )
        }
        guard text.utf8.count <= Self.maximumByteCount else {
            throw invalid("it is longer than \(Self.maximumByteCount) bytes")
        }
        var rest = text[...]
        var kind = assumedKind
        if let separator = text.firstRange(of: "://") {
            kind = Self.kind(ofScheme: text[..<separator.lowerBound].lowercased())
            rest = text[separator.upperBound...]
            guard kind != nil else { throw invalid("its scheme is not socks5, http or https") }
        }
        guard let kind else { throw invalid("it has no scheme") }
        // The user's part ends at the last @, since passwords are often pasted with theirs unescaped.
        if let at = rest.lastIndex(of: "@") {
            credentials = try Self.credentials(rest[..<at], invalid: invalid)
            rest = rest[rest.index(after: at)...]
        } else {
            credentials = nil
        }
        if let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" || $0 == "#" }) {
            guard rest[end...] == "/" else { throw invalid("it has a path") }
            rest = rest[..<end]
        }
        guard let (host, port) = HostText.split(rest) else { throw invalid("it has no valid host and port") }
        if let port, port == 0 { throw invalid("its port is 0") }
        self.kind = kind
        self.host = host
        self.port = port ?? kind.defaultPort
    }

    /// The address without user and password.
    package var description: String { "\(kind)://\(HostText.join(host, port))" }

    private static func kind(ofScheme scheme: String) -> Kind? {
        switch scheme {
        case "socks5", "socks5h", "socks": .socks5
        default: Kind(rawValue: scheme)
        }
    }

    private static func credentials(
        _ text: Substring, invalid: (String) -> ProxyError
    ) throws(ProxyError) -> ProxyCredentials? {
        guard !text.isEmpty else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var decoded: [[UInt8]] = []
        for part in parts {
            guard let bytes = percentDecoded(part) else { throw invalid("user or password has a % without two digits") }
            decoded.append(bytes)
        }
        guard let user = decoded.first,
            let credentials = ProxyCredentials(user: user, password: decoded.count == 2 ? decoded[1] : [])
        else { throw invalid("user and password have 1 to \(ProxyCredentials.maximumByteCount) bytes each") }
        return credentials
    }

    private static func percentDecoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var iterator = text.utf8.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.flatMap(UInt8.init(exactly:))
    }
}
