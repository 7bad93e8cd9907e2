/// Builds the content of a message: integers in little-endian order, texts and bytes behind their count.
struct MountWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ value: Bool) { bytes.append(value ? 1 : 0) }

    mutating func write(_ content: [UInt8]) {
        write(UInt32(clamping: content.count))
        bytes += content
    }

    mutating func write(_ text: String) { write(Array(text.utf8)) }
}

/// Reads what `MountWriter` wrote. Nothing that is in the bytes can trap it.
struct MountReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func integer<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(MountProtocolError) -> Value {
        let byteCount = Value.bitWidth / 8
        guard rest.count >= byteCount else { throw MountProtocolError(.tooShort) }
        var value: Value = 0
        for byte in rest.prefix(byteCount).reversed() { value = value << 8 | Value(truncatingIfNeeded: byte) }
        rest = rest.dropFirst(byteCount)
        return value
    }

    mutating func flag() throws(MountProtocolError) -> Bool { try integer(UInt8.self) != 0 }

    mutating func bytes(atMost limit: Int) throws(MountProtocolError) -> [UInt8] {
        let count = Int(try integer(UInt32.self))
        guard count <= limit else { throw MountProtocolError(.limit) }
        guard count <= rest.count else { throw MountProtocolError(.tooShort) }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func text(atMost limit: Int) throws(MountProtocolError) -> String {
        guard let text = String(validating: try bytes(atMost: limit), as: UTF8.self) else {
            throw MountProtocolError(.invalidText)
        }
        return text
    }

    mutating func path() throws(MountProtocolError) -> String { try text(atMost: MountLimits.pathByteCount) }

    /// Leaves what follows unread.
    mutating func skip() { rest = [] }

    func end() throws(MountProtocolError) {
        guard rest.isEmpty else { throw MountProtocolError(.tooLong) }
    }
}
