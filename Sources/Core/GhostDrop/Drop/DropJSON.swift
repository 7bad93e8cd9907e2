/// The part of JSON (RFC 8259) that GhostDrop's frames use: no fractions, no more than five levels.
///
/// A reader of its own, for it reads what strangers send: bounded in depth and members, exact for 64-bit numbers,
/// without Foundation.
enum DropJSON: Equatable, Sendable {
    case object([String: DropJSON])
    case array([DropJSON])
    case string(String)
    case integer(Int)
    /// A number beyond the range of `integer`.
    case unsigned(UInt64)
    case boolean(Bool)
    case null

    static let depthLimit = 5
    static let memberLimit = 64

    init(parsing bytes: ArraySlice<UInt8>) throws(GhostDropError) {
        var parser = DropJSONParser(bytes: bytes)
        self = try parser.document()
    }

    /// The JSON text, keys in order.
    var text: [UInt8] {
        var text: [UInt8] = []
        write(to: &text)
        return text
    }

    private func write(to text: inout [UInt8]) {
        switch self {
        case .null: text += "null".utf8
        case .boolean(let value): text += (value ? "true" : "false").utf8
        case .integer(let value): text += String(value).utf8
        case .unsigned(let value): text += String(value).utf8
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                value.write(to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                Self.write(member.key, to: &text)
                text.append(UInt8(ascii: ":"))
                member.value.write(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: text += ("\\u00" + (byte < 16 ? "0" : "") + String(byte, radix: 16)).utf8
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}

/// Reads one JSON text.
private struct DropJSONParser {
    private let bytes: ArraySlice<UInt8>
    private var index: Int

    init(bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    private static let malformed = GhostDropError.malformed("invalid JSON")

    mutating func document() throws(GhostDropError) -> DropJSON {
        let value = try value(depth: 0)
        skipSpace()
        guard index == bytes.endIndex else { throw Self.malformed }
        return value
    }

    private var next: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(GhostDropError) -> DropJSON {
        guard depth < DropJSON.depthLimit else { throw Self.malformed }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: DropJSON) throws(GhostDropError) -> DropJSON {
        let end = index + word.utf8CodeUnitCount
        guard end <= bytes.endIndex, bytes[index..<end].elementsEqual(word.description.utf8) else {
            throw Self.malformed
        }
        index = end
        return value
    }

    private mutating func object(depth: Int) throws(GhostDropError) -> DropJSON {
        index += 1
        var members: [String: DropJSON] = [:]
        skipSpace()
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw Self.malformed }
            let key = try string()
            skipSpace()
            guard take(":"), members[key] == nil, members.count < DropJSON.memberLimit else { throw Self.malformed }
            members[key] = try value(depth: depth + 1)
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw Self.malformed }
        }
    }

    private mutating func array(depth: Int) throws(GhostDropError) -> DropJSON {
        index += 1
        var values: [DropJSON] = []
        skipSpace()
        if take("]") { return .array(values) }
        while true {
            guard values.count < DropJSON.memberLimit else { throw Self.malformed }
            values.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(values) }
            guard take(",") else { throw Self.malformed }
        }
    }

    private mutating func number() throws(GhostDropError) -> DropJSON {
        let start = index
        _ = take("-")
        let digits = index
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
        guard index > digits, index - start <= 20, index - digits == 1 || bytes[digits] != UInt8(ascii: "0") else {
            throw Self.malformed
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        if let value = Int(text) { return .integer(value) }
        if let value = UInt64(text) { return .unsigned(value) }
        throw Self.malformed
    }

    private mutating func string() throws(GhostDropError) -> String {
        index += 1
        var utf8: [UInt8] = []
        while true {
            guard let byte = next, byte >= 0x20 else { throw Self.malformed }
            index += 1
            if byte == UInt8(ascii: "\"") { break }
            guard byte == UInt8(ascii: "\\") else {
                utf8.append(byte)
                continue
            }
            guard let escape = next else { throw Self.malformed }
            index += 1
            switch escape {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): utf8.append(escape)
            case UInt8(ascii: "b"): utf8.append(0x08)
            case UInt8(ascii: "f"): utf8.append(0x0C)
            case UInt8(ascii: "n"): utf8.append(0x0A)
            case UInt8(ascii: "r"): utf8.append(0x0D)
            case UInt8(ascii: "t"): utf8.append(0x09)
            case UInt8(ascii: "u"): utf8 += String(Character(try scalar())).utf8
            default: throw Self.malformed
            }
        }
        guard let string = String(validating: utf8, as: UTF8.self) else { throw Self.malformed }
        return string
    }

    /// What follows `\u`: one code unit, or two for a scalar beyond the first 65,536.
    private mutating func scalar() throws(GhostDropError) -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard take("\\"), take("u") else { throw Self.malformed }
        let second = try codeUnit()
        guard (0xD800..<0xDC00).contains(first), (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((UInt32(first) - 0xD800) << 10) + (UInt32(second) - 0xDC00))
        else { throw Self.malformed }
        return scalar
    }

    private mutating func codeUnit() throws(GhostDropError) -> UInt16 {
        let end = index + 4
        guard end <= bytes.endIndex else { throw Self.malformed }
        let digits = bytes[index..<end]
        guard digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-"),
            let value = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw Self.malformed }
        index = end
        return value
    }
}
