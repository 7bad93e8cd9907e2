import Transport

/// Where a request goes: an `http://` or `https://` URL, taken apart.
///
/// ASCII only: an international name is written in its `xn--` form. User names and passwords are refused, a fragment is
/// dropped.
package struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case http, https

        package var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    package var scheme: Scheme
    /// A name, or a number without brackets.
    package var host: String
    package var port: UInt16
    /// The path, at least `/`.
    package var path: String
    /// What follows the question mark, without it; nil when there is none.
    package var query: String?

    package static let maximumByteCount = 2048

    /// - Throws: `HTTPExchangeError` of code `invalidRequest`.
    package init(parsing text: String) throws(HTTPExchangeError) {
        guard text.utf8.count <= Self.maximumByteCount else {
            throw Self.invalid(String(text.prefix(40)) + "…", "it is longer than \(Self.maximumByteCount) bytes")
        }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Self.invalid(text, "it has spaces or characters outside ASCII")
        }
        guard let separator = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<separator.lowerBound].lowercased())
        else { throw Self.invalid(text, "start with https:// or http://") }
        let rest = text[separator.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest[authority.endIndex...]
        (host, port) = try Self.hostAndPort(authority, scheme: scheme, in: text)
        let path = target.prefix { $0 != "?" }
        self.scheme = scheme
        self.path = path.isEmpty ? "/" : String(path)
        query = path.endIndex < target.endIndex ? String(target[path.endIndex...].dropFirst()) : nil
    }

    /// The URL with another query; one that needs no escaping.
    package func withQuery(_ query: String?) -> HTTPURL {
        var url = self
        url.query = query
        return url
    }

    package var description: String { "\(scheme.rawValue)://\(hostField)\(target)" }

    /// What the request line names.
    var target: String { path + (query.map { "?" + $0 } ?? "") }

    /// The value of the `Host` header.
    var hostField: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == scheme.defaultPort ? name : "\(name):\(port)"
    }

    private static func hostAndPort(
        _ authority: Substring, scheme: Scheme, in text: String
    ) throws(HTTPExchangeError) -> (String, UInt16) {
        guard !authority.contains("@") else {
            throw invalid(text, "user names and passwords are not supported; remove them")
        }
        let host: Substring
        let portText: Substring?
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else { throw invalid(text, "the bracket is not closed") }
            host = authority[..<close].dropFirst()
            guard host.contains(":"), IPAddress(String(host)) != nil else {
                throw invalid(text, "only an IPv6 address stands in brackets")
            }
            let after = authority[close...].dropFirst()
            guard after.isEmpty || after.first == ":" else { throw invalid(text, "after the bracket comes :PORT") }
            portText = after.isEmpty ? nil : after.dropFirst()
        } else {
            let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, let first = parts.first else {
                throw invalid(text, "write an IPv6 address in brackets, as https://[2001:db8::1]/")
            }
            host = first
            guard (1...253).contains(host.utf8.count), host.utf8.allSatisfy(isNameByte) else {
                throw invalid(text, "a host name has letters, digits, dots and dashes")
            }
            portText = parts.count == 2 ? parts[1] : nil
        }
        guard let portText else { return (String(host), scheme.defaultPort) }
        guard (1...5).contains(portText.utf8.count),
            portText.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(portText), port != 0
        else { throw invalid(text, "the port is a number from 1 to 65535") }
        return (String(host), port)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func invalid(_ text: String, _ remedy: String) -> HTTPExchangeError {
        HTTPExchangeError(
            .invalidRequest, "“\(text.printable)” is not an http or https URL: \(remedy)", isTransient: false)
    }
}

extension String {
    /// The text without control characters: what servers send may end up in a terminal or a log.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }
}
