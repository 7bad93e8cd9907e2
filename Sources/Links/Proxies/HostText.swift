import Transport

/// Hosts with ports as addresses write them.
enum HostText {
    /// Longest DNS name, in bytes.
    static let maximumByteCount = 253

    /// Reads `HOST`, `HOST:PORT`, `[IPv6]` or `[IPv6]:PORT`; nil for anything else.
    static func split(_ text: Substring) -> (host: String, port: UInt16?)? {
        var host = text
        var port: Substring?
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<close]
            guard host.contains(":") else { return nil }
            let after = text[text.index(after: close)...]
            guard after.isEmpty || after.first == ":" else { return nil }
            port = after.isEmpty ? nil : after.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard isHost(host) else { return nil }
        guard let port else { return (String(host), nil) }
        guard !port.isEmpty, port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt16(port)
        else { return nil }
        return (String(host), number)
    }

    /// `HOST:PORT`, with brackets around an IPv6 address.
    static func join(_ host: String, _ port: UInt16) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Whether this is an IP address, or a name of at most 253 letters, digits, dots, dashes and underscores: nothing
    /// that could end a line of a request.
    static func isHost(_ text: some StringProtocol) -> Bool {
        if text.contains(":") { return IPAddress(String(text)) != nil }
        return !text.isEmpty && text.utf8.count <= maximumByteCount && text.utf8.allSatisfy(isNameByte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
