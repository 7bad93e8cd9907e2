import Cryptography

/// Reads protobuf fields from bytes that nobody vouches for: every read is bounds-checked and nothing is allocated
/// before its length is known to be there.
///
/// Borrows the memory it is given; must not outlive the closure that lent it.
struct WireReader {
    enum WireType: UInt8 {
        case varint = 0
        case fixed64 = 1
        case bytes = 2
        case fixed32 = 5
    }

    struct Tag {
        var field: Int
        var type: WireType
    }

    let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var remaining: Int { bytes.count - offset }
    var isAtEnd: Bool { offset == bytes.count }

    static let truncated = ProtocolError(.malformed, "a protobuf message ends in the middle of a field")

    @inline(__always)
    mutating func varint() throws(ProtocolError) -> UInt64 {
        guard offset < bytes.count else { throw Self.truncated }
        let first = bytes[offset]
        if first < 0x80 {
            offset += 1
            return UInt64(first)
        }
        return try longVarint()
    }

    private mutating func longVarint() throws(ProtocolError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var place = offset
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            // The tenth byte holds the 64th bit and ends the number.
            if shift == 63, byte > 1 { throw ProtocolError(.malformed, "a protobuf number has more than 64 bits") }
            value |= UInt64(byte & 0x7F) &<< shift
            if byte < 0x80 {
                offset = place
                return value
            }
            shift += 7
        }
        throw Self.truncated
    }

    /// The next field's number and wire type; nil at the end.
    @inline(__always)
    mutating func tag() throws(ProtocolError) -> Tag? {
        guard !isAtEnd else { return nil }
        let key = try varint()
        guard key >> 3 > 0, key >> 3 <= 0x1FFF_FFFF, let type = WireType(rawValue: UInt8(key & 7)) else {
            throw ProtocolError(.malformed, "a protobuf field has an impossible key")
        }
        return Tag(field: Int(key >> 3), type: type)
    }

    /// A length-delimited field's bytes, borrowed.
    @inline(__always)
    mutating func borrowed() throws(ProtocolError) -> UnsafeRawBufferPointer {
        let length = try varint()
        guard length <= UInt64(remaining) else { throw Self.truncated }
        let end = offset + Int(length)
        defer { offset = end }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<end])
    }

    /// A length-delimited field's bytes, borrowed. What is too long is refused by its length, before its bytes came.
    @inline(__always)
    mutating func borrowed(atMost limit: Int, _ what: StaticString) throws(ProtocolError) -> UnsafeRawBufferPointer {
        let start = offset
        let length = try varint()
        guard length <= UInt64(limit) else {
            throw ProtocolError(.tooLarge, "\(what) has \(length) bytes; at most \(limit) are taken")
        }
        offset = start
        return try borrowed()
    }

    mutating func bytes(atMost limit: Int, _ what: StaticString) throws(ProtocolError) -> [UInt8] {
        Array(try borrowed(atMost: limit, what))
    }

    mutating func text(atMost limit: Int, _ what: StaticString) throws(ProtocolError) -> String {
        guard let text = String(validating: try borrowed(atMost: limit, what), as: UTF8.self) else {
            throw ProtocolError(.malformed, "\(what) is not UTF-8")
        }
        return text
    }

    @inline(__always)
    mutating func digest(_ what: StaticString) throws(ProtocolError) -> SHA256Digest {
        let part = try borrowed()
        guard let digest = SHA256Digest(part) else {
            throw ProtocolError(.malformed, "\(what) has \(part.count) bytes instead of 32")
        }
        return digest
    }

    mutating func bool() throws(ProtocolError) -> Bool { try varint() != 0 }
    @inline(__always)
    mutating func int64() throws(ProtocolError) -> Int64 { Int64(bitPattern: try varint()) }
    /// Protobuf's int32: what exceeds it is cut, as protobuf itself does.
    @inline(__always)
    mutating func int32() throws(ProtocolError) -> Int32 { Int32(truncatingIfNeeded: try varint()) }

    mutating func skip(_ type: WireType) throws(ProtocolError) {
        switch type {
        case .varint: _ = try varint()
        case .bytes: _ = try borrowed()
        case .fixed64: try advance(by: 8)
        case .fixed32: try advance(by: 4)
        }
    }

    private mutating func advance(by count: Int) throws(ProtocolError) {
        guard remaining >= count else { throw Self.truncated }
        offset += count
    }

    /// Fails unless `tag` has the wire type that its field must have.
    @inline(__always)
    func expect(_ tag: Tag, _ type: WireType) throws(ProtocolError) {
        guard tag.type == type else {
            throw ProtocolError(.malformed, "protobuf field \(tag.field) has the wrong wire type")
        }
    }
}
