import Cryptography

/// Reads the fields of a blob one after the other; a blob that is too short is a malformed row.
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func integer<Value: FixedWidthInteger>(as type: Value.Type) throws -> Value {
        let width = MemoryLayout<Value>.size
        guard bytes.count - position >= width else { throw MalformedRow("a blob is too short") }
        defer { position += width }
        return Value(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Value.self))
    }

    mutating func variableInteger() throws -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try integer(as: UInt8.self)
            guard shift < 63 || (shift == 63 && byte <= 1) else { throw MalformedRow("a number is too long") }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
            shift += 7
        }
    }

    mutating func bytes(count: UInt64) throws -> [UInt8] {
        guard count <= UInt64(bytes.count - position) else { throw MalformedRow("a blob is too short") }
        defer { position += Int(count) }
        return Array(bytes[position..<position + Int(count)])
    }

    mutating func digest() throws -> SHA256Digest {
        guard bytes.count - position >= SHA256Digest.byteCount,
            let digest = SHA256Digest(
                UnsafeRawBufferPointer(rebasing: bytes[position..<position + SHA256Digest.byteCount]))
        else { throw MalformedRow("a hash is too short") }
        position += SHA256Digest.byteCount
        return digest
    }

    mutating func rest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[position...])
    }
}
