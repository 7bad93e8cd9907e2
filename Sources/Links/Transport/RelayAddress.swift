import Phrases

/// Where a relay of relay protocol v1 is reached, and what it asks of whoever joins it.
///
/// Its text form is `relay://HOST[:PORT]/?id=DEVICE-ID[&token=TOKEN]`. Public relays write more keys, which say nothing
/// that a client needs; they are read over and not kept.
package struct RelayAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name or a number without brackets.
    package var host: String
    /// From 1 on.
    package var port: UInt16
    /// The device id that the relay's certificate must have; nil accepts any certificate. Its check characters are not
    /// verified here.
    package var id: String?
    /// What a private relay wants to be told by those who join it. Secret: it belongs in no announcement and no log.
    package var token: String?

    package static let defaultPort: UInt16 = 22067

    /// Longest text that is read; those of the public pool have some 300 bytes.
    package static let maximumByteCount = 2048
    /// Longest token: what fits into a JoinRelayRequest of 1024 bytes, after the four bytes of its length.
    package static let maximumTokenByteCount = 1020

    package init(host: String, port: UInt16 = defaultPort, id: String? = nil, token: String? = nil) {
        self.host = host
        self.port = port
        self.id = id
        self.token = token
    }

    /// Reads `relay://HOST[:PORT]/?id=…&token=…`. An empty id or token counts as none; the first of several counts.
    ///
    /// - Throws: `LinkError` with the code `invalidAddress`; `unsupportedAddress` for another scheme.
    package init(parsing text: String) throws(LinkError) {
        guard text.utf8.count <= Self.maximumByteCount else {
            throw Self.invalid(
                String(text.prefix(40)) + "…", Phrase("it is longer than \(Self.maximumByteCount) bytes"))
        }
        guard text.hasPrefix("relay://") else {
            throw LinkError(
                .unsupportedAddress, "“\(Self.printable(text))” is not a relay address; use relay://HOST:PORT/?id=ID",
                isTransient: false)
        }
        let rest = text.dropFirst("relay://".count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let (host, port) = try Self.hostAndPort(rest[..<end], in: text)
        self.init(host: host, port: port)
        let tail = rest[end...].prefix { $0 != "#" }
        guard let mark = tail.firstIndex(of: "?") else { return }
        for pair in tail[tail.index(after: mark)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let key = parts.first, key == "id" || key == "token" else { continue }
            guard let value = Self.decoded(parts[1]) else {
                throw Self.invalid(text, Phrase("the value of “\(key)” is not percent-encoded UTF-8"))
            }
            guard !value.isEmpty else { continue }
            if key == "token" {
                guard value.utf8.count <= Self.maximumTokenByteCount else {
                    throw Self.invalid(text, Phrase("a token has at most \(Self.maximumTokenByteCount) bytes"))
                }
                token = token ?? value
            } else {
                guard value.utf8.count <= 71, value.utf8.allSatisfy(Self.isIDCharacter) else {
                    throw Self.invalid(text, Phrase("the value of “id” is not a device id"))
                }
                id = id ?? value
            }
        }
    }

    /// What other devices may know: the relay and its id, never the token.
    package var announcement: String { authority + "/" + (id.map { "?id=" + $0 } ?? "") }

    /// Scheme, host and port: what tells people and logs which relay is meant.
    package var authority: String { host.contains(":") ? "relay://[\(host)]:\(port)" : "relay://\(host):\(port)" }

    /// As announced: a token never reaches a log by accident.
    package var description: String { announcement }

    private static func hostAndPort(
        _ authority: Substring, in text: String
    ) throws(LinkError) -> (host: String, port: UInt16) {
        let host: Substring
        let after: Substring
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else {
                throw invalid(text, Phrase("the bracket is not closed"))
            }
            host = authority[authority.index(after: authority.startIndex)..<close]
            guard host.contains(":"), IPAddress(String(host)) != nil else {
                throw invalid(text, Phrase("only an IPv6 address stands in brackets"))
            }
            after = authority[authority.index(after: close)...]
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon]
            after = authority[colon...]
            guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(isNameCharacter) else {
                throw invalid(text, Phrase("write the relay's name or IP address after relay://"))
            }
        }
        guard !after.isEmpty else { return (String(host), defaultPort) }
        let digits = after.dropFirst()
        guard after.first == ":", !digits.isEmpty, digits.utf8.allSatisfy(isDigit), let port = UInt16(digits), port > 0
        else { throw invalid(text, Phrase("the port is a number from 1 to 65535")) }
        return (String(host), port)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isIDCharacter(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLetter(byte) || byte == UInt8(ascii: "-")
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLetter(byte) || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_")].contains(byte)
    }

    /// Undoes percent-encoding; nil if what results is not UTF-8 or a percent sign has no two digits behind it.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var iterator = text.utf8.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(hexadecimal), let low = iterator.next().flatMap(hexadecimal)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        isDigit(byte) || isLetter(byte) ? UInt8(String(Unicode.Scalar(byte)), radix: 16) : nil
    }

    private static func invalid(_ text: String, _ remedy: Phrase) -> LinkError {
        LinkError(.invalidAddress, "“\(printable(text))” is not a relay address: \(remedy)", isTransient: false)
    }

    /// The text up to its query, which may hold a token, without control characters.
    private static func printable(_ text: String) -> String {
        let shown = text.prefix { $0 != "?" }.prefix(300)
        return String(
            String.UnicodeScalarView(shown.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
    }
}
