import CSystemd
import Glibc

/// How much of one message is read: as values it takes many times the memory that it takes as bytes.
struct MessageLimit {
    private(set) var values: Int
    private(set) var bytes: Int
    private(set) var isExceeded = false

    /// Of a call of one of this program's methods, which anybody on the bus may make.
    static let call = MessageLimit(values: 4096, bytes: 1 << 20)
    /// Of what this program asked for: answers, and signals that it wants to hear.
    static let answer = MessageLimit(values: 1 << 20, bytes: 64 << 20)

    init(values: Int, bytes: Int) {
        self.values = values
        self.bytes = bytes
    }

    /// False, from then on, once it is more.
    mutating func take(values: Int = 1, bytes: Int = 0) -> Bool {
        guard !isExceeded, values <= self.values, bytes <= self.bytes else {
            isExceeded = true
            return false
        }
        self.values -= values
        self.bytes -= bytes
        return true
    }
}

/// Reads and writes the values of sd-bus messages.
///
/// sd-bus has checked the message's form, its depth (64 levels) and its length (128 MiB) before it hands it out.
enum MessageCoding {
    /// What a descriptor counts for: each is duplicated, and a message may name one of its descriptors often.
    private static let descriptorCost = 64

    /// The values of a message that has not been read from; nil when sd-bus finds a fault in it, or it is over the limit.
    static func values(of message: OpaquePointer, _ limit: inout MessageLimit) -> [BusValue]? {
        guard sd_bus_message_rewind(message, 1) >= 0 else { return nil }
        return values(in: message, &limit)
    }

    /// Appends `value`. Throws with the negative error of sd-bus.
    static func append(_ value: BusValue, to message: OpaquePointer) throws(SystemError) {
        switch value {
        case .byte(let number): try basic("y", number, message)
        case .boolean(let flag): try basic("b", CInt(flag ? 1 : 0), message)
        case .int16(let number): try basic("n", number, message)
        case .uint16(let number): try basic("q", number, message)
        case .int32(let number): try basic("i", number, message)
        case .uint32(let number): try basic("u", number, message)
        case .int64(let number): try basic("x", number, message)
        case .uint64(let number): try basic("t", number, message)
        case .double(let number): try basic("d", number, message)
        case .string(let text): try check(sd_bus_message_append_basic(message, code("s"), text))
        case .objectPath(let text): try check(sd_bus_message_append_basic(message, code("o"), text))
        case .signature(let text): try check(sd_bus_message_append_basic(message, code("g"), text))
        case .descriptor(let descriptor): try basic("h", descriptor.descriptor.number, message)
        case .bytes(let bytes):
            try check(
                bytes.withUnsafeBytes { sd_bus_message_append_array(message, code("y"), $0.baseAddress, $0.count) })
        case .variant(let inner): try container("v", inner.type, [inner], message)
        case .array(let element, let elements): try container("a", element, elements, message)
        case .structure(let fields): try container("r", fields.map(\.type).joined(), fields, message)
        case .dictionary(let key, let value, let entries):
            try check(sd_bus_message_open_container(message, code("a"), "{" + key + value + "}"))
            for entry in entries { try container("e", key + value, [entry.key, entry.value], message) }
            try check(sd_bus_message_close_container(message))
        }
    }

    private static func values(in message: OpaquePointer, _ limit: inout MessageLimit) -> [BusValue]? {
        var values: [BusValue] = []
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            let result = sd_bus_message_peek_type(message, &type, &contents)
            if result == 0 { return values }
            guard result > 0, limit.take(),
                let value = value(type, contents.map { String(cString: $0) } ?? "", in: message, &limit)
            else { return nil }
            values.append(value)
        }
    }

    private static func value(
        _ type: CChar, _ contents: String, in message: OpaquePointer, _ limit: inout MessageLimit
    ) -> BusValue? {
        switch Character(UnicodeScalar(UInt8(bitPattern: type))) {
        case "y": return read(type, UInt8(0), message).map { .byte($0) }
        case "b": return read(type, CInt(0), message).map { .boolean($0 != 0) }
        case "n": return read(type, Int16(0), message).map { .int16($0) }
        case "q": return read(type, UInt16(0), message).map { .uint16($0) }
        case "i": return read(type, Int32(0), message).map { .int32($0) }
        case "u": return read(type, UInt32(0), message).map { .uint32($0) }
        case "x": return read(type, Int64(0), message).map { .int64($0) }
        case "t": return read(type, UInt64(0), message).map { .uint64($0) }
        case "d": return read(type, Double(0), message).map { .double($0) }
        case "s": return readText(type, message, &limit).map { .string($0) }
        case "o": return readText(type, message, &limit).map { .objectPath($0) }
        case "g": return readText(type, message, &limit).map { .signature($0) }
        case "h":
            guard limit.take(values: descriptorCost), let number = read(type, CInt(-1), message),
                let copy = try? Descriptor.duplicate(of: number)
            else { return nil }
            return .descriptor(BusDescriptor(copy))
        case "a" where contents == "y":
            var start: UnsafeRawPointer?
            var count = 0
            guard sd_bus_message_read_array(message, code("y"), &start, &count) >= 0,
                limit.take(values: 0, bytes: count)
            else { return nil }
            return .bytes([UInt8](UnsafeRawBufferPointer(start: start, count: count)))
        case "a" where contents.hasPrefix("{"):
            guard let elements = inside(type, contents, message, &limit) else { return nil }
            let key = contents.dropFirst().prefix(1)
            let entries = elements.compactMap { element -> BusValue.Entry? in
                guard case .structure(let pair) = element, pair.count == 2 else { return nil }
                return BusValue.Entry(key: pair[0], value: pair[1])
            }
            return .dictionary(key: String(key), value: String(contents.dropFirst(2).dropLast()), entries)
        case "a": return inside(type, contents, message, &limit).map { .array(element: contents, $0) }
        case "r", "e": return inside(type, contents, message, &limit).map { .structure($0) }
        case "v": return inside(type, contents, message, &limit).flatMap(\.first).map { .variant($0) }
        default: return nil
        }
    }

    private static func inside(
        _ type: CChar, _ contents: String, _ message: OpaquePointer, _ limit: inout MessageLimit
    ) -> [BusValue]? {
        guard sd_bus_message_enter_container(message, type, contents) > 0, let values = values(in: message, &limit),
            sd_bus_message_exit_container(message) >= 0
        else { return nil }
        return values
    }

    private static func read<Number: BitwiseCopyable>(_ type: CChar, _ initial: Number, _ message: OpaquePointer)
        -> Number?
    {
        var number = initial
        return sd_bus_message_read_basic(message, type, &number) > 0 ? number : nil
    }

    private static func readText(_ type: CChar, _ message: OpaquePointer, _ limit: inout MessageLimit) -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(message, type, &text) > 0, let text,
            limit.take(values: 0, bytes: strlen(text))
        else { return nil }
        return String(cString: text)
    }

    private static func basic<Number: BitwiseCopyable>(
        _ type: Unicode.Scalar, _ number: Number, _ message: OpaquePointer
    ) throws(SystemError) {
        var number = number
        try check(sd_bus_message_append_basic(message, code(type), &number))
    }

    private static func container(
        _ type: Unicode.Scalar, _ contents: String, _ values: [BusValue], _ message: OpaquePointer
    ) throws(SystemError) {
        try check(sd_bus_message_open_container(message, code(type), contents))
        for value in values { try append(value, to: message) }
        try check(sd_bus_message_close_container(message))
    }

    private static func code(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }

    private static func check(_ result: CInt) throws(SystemError) {
        if result < 0 { throw SystemError("sd_bus_message_append", -result) }
    }
}
