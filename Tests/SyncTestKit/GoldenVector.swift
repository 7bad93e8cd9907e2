import Foundation

/// Bytes that a real peer sent, and what they mean.
package struct GoldenVector: Sendable, CustomStringConvertible {
    package let name: String
    package let source: String
    package let bytes: [UInt8]
    package let what: JSONValue

    package var description: String { name }

    /// Reads the list of `{name, source, hex, what}` at `url`.
    package static func load(_ url: URL) throws -> [GoldenVector] {
        let list = try JSONDecoder().decode(JSONValue.self, from: Data(contentsOf: url))
        return list.array.map { item in
            GoldenVector(
                name: item["name"].string, source: item["source"].string, bytes: item["hex"].bytes, what: item["what"])
        }
    }
}

/// JSON without a schema; what is missing reads as zero, empty or false, as in proto3.
package enum JSONValue: Sendable, Decodable {
    case null
    case bool(Bool)
    case integer(Int64)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    package subscript(_ key: String) -> JSONValue {
        if case .object(let members) = self { members[key] ?? .null } else { .null }
    }

    package var array: [JSONValue] { if case .list(let items) = self { items } else { [] } }
    package var string: String { if case .text(let text) = self { text } else { "" } }
    package var bool: Bool { if case .bool(let value) = self { value } else { false } }
    package var int: Int64 { if case .integer(let value) = self { value } else { 0 } }
    /// A number that is too large for JSON and stands there as text.
    package var unsigned: UInt64 { UInt64(string) ?? UInt64(clamping: int) }
    /// Hexadecimal digits.
    package var bytes: [UInt8] {
        let digits = string.utf8.map { UInt8(String(UnicodeScalar($0)), radix: 16) ?? 0 }
        return stride(from: 0, to: digits.count - digits.count % 2, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
