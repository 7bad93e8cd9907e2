/// The part of a request's target behind the `?`: names and values, in order.
///
/// A `+` stands for itself: form encoding is not spoken here.
package struct RequestQuery: Sendable {
    private var items: [(name: String, value: String)]

    package init(_ items: [(String, String)]) {
        self.items = items.map { (name: $0.0, value: $0.1) }
    }

    /// Throws `invalidRequest` for a broken percent sign, for what is not UTF-8 and for a name given twice.
    package init(encoded: String) throws(ControlError) {
        items = []
        for part in encoded.split(separator: "&") {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(halves[0]), let value = halves.count > 1 ? Self.decode(halves[1]) : "" else {
                throw ControlError(.invalidRequest, "The query is not percent-encoded UTF-8: \(part).")
            }
            guard self[name] == nil else {
                throw ControlError(.invalidRequest, "The query contains \(name) twice; give it once.")
            }
            items.append((name, value))
        }
    }

    package var encoded: String {
        items.map { Self.encode($0.name) + "=" + Self.encode($0.value) }.joined(separator: "&")
    }

    package subscript(name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    package func required(_ name: String) throws(ControlError) -> String {
        guard let value = self[name], !value.isEmpty else {
            throw ControlError(.invalidRequest, "The query needs \(name)=….")
        }
        return value
    }

    package func flag(_ name: String) throws(ControlError) -> Bool {
        switch self[name] {
        case nil, "false": return false
        case "true", "": return true
        case let other?:
            throw ControlError(.invalidRequest, "\(name) must be true or false, not \(other).")
        }
    }

    /// A number from 0 on.
    package func number(_ name: String) throws(ControlError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw ControlError(.invalidRequest, "\(name) must be at least 0, not \(text.prefix(80)).")
        }
        return number
    }

    package func count(_ name: String) throws(ControlError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), number > 0 else {
            throw ControlError(.invalidRequest, "\(name) must be at least 1, not \(text).")
        }
        return number
    }

    /// Percent-encoded; slashes and colons stay.
    package static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"), UInt8(ascii: ":"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil for a broken percent sign and for what is not UTF-8.
    package static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexDigit), let low = rest.popFirst().flatMap(hexDigit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
