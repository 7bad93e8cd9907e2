/// A value of the D-Bus type system (D-Bus Specification, "Type System").
package indirect enum BusValue: Equatable, Sendable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    case signature(String)
    case descriptor(BusDescriptor)
    /// `ay`, the array that carries data.
    case bytes([UInt8])
    case variant(BusValue)
    case array(element: String, [BusValue])
    case structure([BusValue])
    case dictionary(key: String, value: String, [Entry])

    package struct Entry: Equatable, Sendable {
        package var key: BusValue
        package var value: BusValue

        package init(key: BusValue, value: BusValue) {
            self.key = key
            self.value = value
        }
    }

    /// `as`.
    package static func strings(_ strings: [String]) -> BusValue {
        .array(element: "s", strings.map { .string($0) })
    }

    /// `a{sv}`, in the order of the names.
    package static func properties(_ properties: [String: BusValue]) -> BusValue {
        .dictionary(
            key: "s", value: "v",
            properties.sorted { $0.key < $1.key }.map { Entry(key: .string($0.key), value: .variant($0.value)) })
    }

    /// The signature of this value's type.
    package var type: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .descriptor: "h"
        case .bytes: "ay"
        case .variant: "v"
        case .array(let element, _): "a" + element
        case .structure(let fields): "(" + fields.map(\.type).joined() + ")"
        case .dictionary(let key, let value, _): "a{" + key + value + "}"
        }
    }

    /// The value inside any variants.
    package var plain: BusValue {
        if case .variant(let value) = self { value.plain } else { self }
    }

    package var text: String? {
        switch plain {
        case .string(let text), .objectPath(let text), .signature(let text): text
        default: nil
        }
    }

    package var flag: Bool? {
        if case .boolean(let flag) = plain { flag } else { nil }
    }

    /// A number of any integer type that fits.
    package var number: Int? {
        switch plain {
        case .byte(let number): Int(number)
        case .int16(let number): Int(number)
        case .uint16(let number): Int(number)
        case .int32(let number): Int(number)
        case .uint32(let number): Int(number)
        case .int64(let number): Int(exactly: number)
        case .uint64(let number): Int(exactly: number)
        default: nil
        }
    }

    package var real: Double? {
        if case .double(let real) = plain { real } else { nil }
    }

    package var data: [UInt8]? {
        if case .bytes(let bytes) = plain { bytes } else { nil }
    }

    package var texts: [String]? {
        guard case .array(_, let elements) = plain else { return nil }
        return elements.compactMap(\.text)
    }

    package var openDescriptor: Descriptor? {
        if case .descriptor(let descriptor) = plain { descriptor.descriptor } else { nil }
    }

    /// A dictionary with text or paths for keys; nil for anything else.
    package var members: [String: BusValue]? {
        guard case .dictionary(_, _, let entries) = plain else { return nil }
        var members: [String: BusValue] = [:]
        for entry in entries {
            guard let key = entry.key.text else { return nil }
            members[key] = entry.value.plain
        }
        return members
    }
}

/// A file descriptor in a message.
package struct BusDescriptor: Equatable, Sendable {
    package var descriptor: Descriptor

    package init(_ descriptor: Descriptor) { self.descriptor = descriptor }

    package static func == (left: BusDescriptor, right: BusDescriptor) -> Bool {
        left.descriptor === right.descriptor
    }
}
