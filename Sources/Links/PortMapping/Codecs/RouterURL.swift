import Transport

/// A plain-HTTP address of a router: the host is a number, so that no name server decides who is asked.
package struct RouterURL: Equatable, Hashable, Sendable, CustomStringConvertible {
    package var host: IPAddress
    package var port: UInt16
    /// From its `/` on, with the query: printable ASCII without spaces.
    package var path: String

    static let maximumByteCount = 1024

    package init(host: IPAddress, port: UInt16, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }

    /// Reads `http://192.168.1.1:5000/rootDesc.xml`.
    /// - Throws: `malformed` for another scheme, a name as host, user information, or characters that do not belong in
    ///   a request line; `foreignLocation` for https, which routers only offer with certificates that nobody verifies.
    package init(_ text: String) throws(PortMappingError) {
        guard text.utf8.count <= Self.maximumByteCount, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .malformed("the router's URL has characters that do not belong in one")
        }
        let scheme = "http://"
        guard text.prefix(scheme.count).lowercased() == scheme else { throw .malformed("the router's URL is not HTTP") }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        (host, port) = try Self.authority(rest[..<end])
        path = Self.path(rest[end...])
    }

    /// What `reference` (a full URL, an absolute path or a relative one) stands for in a document from here. Host and port
    /// stay this one's whatever it says.
    /// - Throws: `malformed` for characters that do not belong in a request line.
    package func resolving(_ reference: String) throws(PortMappingError) -> RouterURL {
        guard !reference.isEmpty, reference.utf8.count <= Self.maximumByteCount,
            reference.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw .malformed("the router names a control URL that cannot be asked") }
        if let separator = reference.firstRange(of: "://") {
            let rest = reference[separator.upperBound...]
            return RouterURL(
                host: host, port: port, path: Self.path(rest[(rest.firstIndex(of: "/") ?? rest.endIndex)...]))
        }
        if reference.hasPrefix("/") { return RouterURL(host: host, port: port, path: Self.path(reference[...])) }
        let directory = path.prefix { $0 != "?" }
        let base = directory[...(directory.lastIndex(of: "/") ?? directory.startIndex)]
        return RouterURL(host: host, port: port, path: Self.path((base + reference)[...]))
    }

    /// Host and port as a request names them.
    package var authority: String { host.isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

    package var description: String { "http://\(authority)\(path)" }

    private static func path(_ text: Substring) -> String {
        let plain = text.prefix { $0 != "#" }
        return plain.hasPrefix("/") ? String(plain) : "/" + plain
    }

    private static func authority(_ text: Substring) throws(PortMappingError) -> (IPAddress, UInt16) {
        var hostText = text
        var portText: Substring = "80"
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { throw .malformed("the router's URL has no host") }
            hostText = text[text.index(after: text.startIndex)..<close]
            let after = text[text.index(after: close)...]
            guard after.isEmpty || after.hasPrefix(":") else { throw .malformed("the router's URL has no port") }
            if !after.isEmpty { portText = after.dropFirst() }
        } else if let colon = text.firstIndex(of: ":") {
            hostText = text[..<colon]
            portText = text[text.index(after: colon)...]
        }
        guard let host = IPAddress(String(hostText)), host.zone == nil else {
            throw .malformed("the router's URL has no numeric host")
        }
        guard portText.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(portText), port != 0 else {
            throw .malformed("the router's URL has no valid port")
        }
        return (host, port)
    }
}
