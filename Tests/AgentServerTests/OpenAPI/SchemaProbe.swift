import ControlAPI
import Foundation

/// The schemas of types, found by letting them decode themselves from nothing and noting what they ask for.
///
/// What a type decodes is required, what it decodes if present is not; strings with a fixed set of values are those whose
/// enum is `CaseIterable`. What cannot be found so is in `FieldNotes`.
final class Schemas {
    typealias JSON = [String: Any]

    private(set) var components: [String: JSON] = [:]

    /// A schema, or a reference to it where it has a name.
    func schema(of type: any Decodable.Type) -> JSON {
        if let words = Self.words(type) { return ["type": "string", "enum": words] }
        if type == ControlError.Code.self { return ["type": "string"] }
        if type == Phrase.Argument.self { return ["oneOf": [["type": "string"], schema(of: Phrase.self)]] }
        if let simple = Self.simple[ObjectIdentifier(type)] { return simple }
        if let list = type as? any ListShaped.Type { return list.schema(self) }
        let name = Self.name(of: type)
        if components[name] == nil {
            components[name] = [:]
            components[name] = object(type)
        }
        return ["$ref": "#/components/schemas/\(name)"]
    }

    /// A part of a list of these.
    func page(of type: any Decodable.Type) -> JSON {
        let name = Self.name(of: type) + "Part"
        let items = schema(of: type)
        components[name] = [
            "type": "object", "required": ["entries", "offset", "schema"],
            "properties": [
                "schema": ["const": 1], "offset": Self.integer, "total": Self.integer, "truncated": ["type": "boolean"],
                "entries": ["type": "array", "items": items, "maxItems": PageLimits.entries],
            ],
        ]
        return ["$ref": "#/components/schemas/\(name)"]
    }

    func add(_ name: String, _ schema: JSON) -> JSON {
        components[name] = schema
        return ["$ref": "#/components/schemas/\(name)"]
    }

    private func object(_ type: any Decodable.Type) -> JSON {
        let noted = type as? any FieldNoted.Type
        let cases = noted?.cases
        var fields: [String: JSON] = [:]
        var required: Set<String>?
        for word in cases?.words ?? [""] {
            let record = FieldRecord(self)
            if let cases { record.texts = [cases.field: word] }
            _ = try? type.init(from: Probe(record))
            fields.merge(record.fields) { first, _ in first }
            required = required.map { $0.intersection(record.required) } ?? record.required
        }
        if let cases { fields[cases.field] = ["type": "string", "enum": cases.words] }
        if fields["schema"] != nil { fields["schema"] = ["const": 1] }
        for (name, note) in noted?.fieldNotes ?? [:] {
            note.apply(to: &fields[name, default: [:]])
            if note.isAlways { required?.insert(name) }
        }
        return ["type": "object", "required": (required ?? []).sorted(), "properties": fields]
    }

    static var integer: JSON { ["type": "integer", "format": "int64"] }

    private static var simple: [ObjectIdentifier: JSON] {
        [
            ObjectIdentifier(String.self): ["type": "string"], ObjectIdentifier(Bool.self): ["type": "boolean"],
            ObjectIdentifier(Double.self): ["type": "number"], ObjectIdentifier(Int.self): integer,
            ObjectIdentifier(Int64.self): integer,
        ]
    }

    static func name(of type: any Any.Type) -> String {
        String(reflecting: type).split(separator: ".").dropFirst().joined()
    }

    static func words(_ type: any Any.Type) -> [String]? {
        guard let type = type as? any (CaseIterable & RawRepresentable).Type else { return nil }
        return words(listed: type)
    }

    private static func words<Word: CaseIterable & RawRepresentable>(listed type: Word.Type) -> [String]? {
        let words = type.allCases.compactMap { $0.rawValue as? String }
        return words.isEmpty ? nil : words
    }
}

extension FieldNote {
    fileprivate func apply(to schema: inout Schemas.JSON) {
        if let description { schema["description"] = description }
        switch value {
        case nil: break
        case .constant(let text): schema = ["const": text]
        case .oneOf(let words): schema["enum"] = words
        case .text(let length): (schema["minLength"], schema["maxLength"]) = (length.lowerBound, length.upperBound)
        case .number(let range): (schema["minimum"], schema["maximum"]) = (range.lowerBound, range.upperBound)
        case .items(let range): (schema["minItems"], schema["maxItems"]) = (range.lowerBound, range.upperBound)
        case .nullable: schema["type"] = [schema["type"] as? String ?? "string", "null"]
        case .object: schema["type"] = "object"
        }
    }
}

/// A type that a schema is made of by its parts.
protocol ListShaped {
    static func schema(_ schemas: Schemas) -> Schemas.JSON
}

extension Array: ListShaped where Element: Decodable {
    static func schema(_ schemas: Schemas) -> Schemas.JSON {
        var schema: Schemas.JSON = ["type": "array", "items": schemas.schema(of: Element.self)]
        if Element.self == PathReference.self { schema["maxItems"] = ControlLimits.paths }
        return schema
    }
}

extension Dictionary: ListShaped where Key == String, Value: Decodable {
    static func schema(_ schemas: Schemas) -> Schemas.JSON {
        ["type": "object", "additionalProperties": schemas.schema(of: Value.self)]
    }
}

/// What a type has asked for.
private final class FieldRecord {
    let schemas: Schemas
    var fields: [String: Schemas.JSON] = [:]
    var required: Set<String> = []
    /// The texts to answer with, by field.
    var texts: [String: String] = [:]

    init(_ schemas: Schemas) { self.schemas = schemas }

    func add(_ key: any CodingKey, _ type: any Decodable.Type, isRequired: Bool) {
        fields[key.stringValue] = schemas.schema(of: type)
        if isRequired { required.insert(key.stringValue) }
    }
}

/// Decodes nothing, and answers what is needed to go on.
private struct Probe: Decoder {
    let record: FieldRecord
    var text: String
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ record: FieldRecord, text: String = "") { (self.record, self.text) = (record, text) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Keyed<Key>(record: record))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { Unkeyed(record: record) }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(record: record, text: text) }

    /// A value of any type; its own fields are not noted.
    static func value<Value: Decodable>(_ type: Value.Type, _ record: FieldRecord, text: String = "") throws -> Value {
        let simple: Any? =
            switch type {
            case is String.Type: text
            case is Bool.Type: false
            case is Int.Type: 0
            case is Int64.Type: Int64(0)
            case is Double.Type: 0.0
            default: nil
            }
        if let simple = simple as? Value { return simple }
        let aside = FieldRecord(record.schemas)
        var text = text
        if let word = Schemas.words(type)?.first { text = word }
        if let cases = (type as? any FieldNoted.Type)?.cases { aside.texts = [cases.field: cases.words[0]] }
        return try Value(from: Probe(aside, text: text))
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let record: FieldRecord
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }
        func decodeNil(forKey key: Key) -> Bool { true }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            record.add(key, type, isRequired: true)
            return try value(type, record, text: record.texts[key.stringValue] ?? "")
        }

        func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? {
            record.add(key, type, isRequired: false)
            return nil
        }

        func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? { optional(type, key) }
        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) -> Bool? { optional(type, key) }
        func decodeIfPresent(_ type: Int.Type, forKey key: Key) -> Int? { optional(type, key) }
        func decodeIfPresent(_ type: Int64.Type, forKey key: Key) -> Int64? { optional(type, key) }
        func decodeIfPresent(_ type: Double.Type, forKey key: Key) -> Double? { optional(type, key) }

        private func optional<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
            record.add(key, type, isRequired: false)
            return nil
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw Unsupported() }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Unsupported() }
        func superDecoder() throws -> any Decoder { throw Unsupported() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw Unsupported() }
    }

    /// An empty list.
    private struct Unkeyed: UnkeyedDecodingContainer {
        let record: FieldRecord
        var codingPath: [any CodingKey] { [] }
        var count: Int? { 0 }
        var isAtEnd: Bool { true }
        var currentIndex: Int { 0 }

        mutating func decodeNil() throws -> Bool { throw Unsupported() }
        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { throw Unsupported() }
        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> { throw Unsupported() }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unsupported() }
        mutating func superDecoder() throws -> any Decoder { throw Unsupported() }
    }

    private struct Single: SingleValueDecodingContainer {
        let record: FieldRecord
        let text: String
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type, record, text: text) }
    }

    private struct Unsupported: Error {}
}
