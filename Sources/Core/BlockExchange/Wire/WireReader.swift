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
        if let value = wideVarint() { return value }
        let end = min(remaining, 10)
        var value: UInt64 = 0
        var count = 0
        while count < end {
            let byte = UInt64(bytes[offset &+ count])
            // At most nine times seven.
            let shift = UInt64(truncatingIfNeeded: count &* 7)
            value |= (byte & 0x7F) &<< shift
            count &+= 1
            guard byte < 0x80 else { continue }
            // The tenth byte holds the 64th bit.
            guard shift < 63 || byte <= 1 else {
                throw ProtocolError(.malformed, "a protobuf number has more than 64 bits")
            }
            offset += count
            return value
        }
        throw count == 10 ? ProtocolError(.malformed, "a protobuf number has more than 10 bytes") : Self.truncated
    }

    /// A number where ten bytes are left, read eight bytes in one go; nil for one that is none.
    @inline(__always)
    private mutating func wideVarint() -> UInt64? {
        guard remaining >= 10 else { return nil }
        let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        // The lowest byte without its high bit is the number's last; without one, all eight belong to it.
        let ends = ~word & 0x8080_8080_8080_8080
        var value = word & (ends ^ (ends &- 1)) & 0x7F7F_7F7F_7F7F_7F7F
        // The groups of seven bits move together: to pairs, to pairs of pairs, to one.
        value = value & 0x007F_007F_007F_007F | (value & 0x7F00_7F00_7F00_7F00) >> 1
        value = value & 0x0000_3FFF_0000_3FFF | (value & 0x3FFF_0000_3FFF_0000) >> 2
        value = value & 0x0000_0000_0FFF_FFFF | (value & 0x0FFF_FFFF_0000_0000) >> 4
        if ends != 0 {
            offset += ends.trailingZeroBitCount / 8 + 1
            return value
        }
        let (ninth, tenth) = (UInt64(bytes[offset + 8]), UInt64(bytes[offset + 9]))
        value |= (ninth & 0x7F) << 56
        if ninth < 0x80 {
            offset += 9
            return value
        }
        guard tenth <= 1 else { return nil }
        offset += 10
        return value | tenth << 63
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
        // bounded: the length is at most what remains
        let end = offset + Int(length)
        defer { offset = end }
        // bounded: the length is at most what remains
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<end])
    }

    /// A length-delimited field's bytes, borrowed. What is too long is refused by its length, before its bytes came.
    @inline(__always)
    mutating func borrowed(atMost limit: Int, _ what: StaticString) throws(ProtocolError) -> UnsafeRawBufferPointer {
        let start = offset
        let length = try varint()
        guard length <= UInt64(limit) else {
            throw ProtocolError(.tooLarge, "\(what) has \(length) bytes; at most \(limit) are accepted")
        }
        offset = start
        return try borrowed()
    }

    mutating func bytes(atMost limit: Int, _ what: StaticString) throws(ProtocolError) -> [UInt8] {
        Array(try borrowed(atMost: limit, what))
    }

    mutating func text(atMost limit: Int, _ what: StaticString) throws(ProtocolError) -> String {
        guard let text = String(validUTF8: try borrowed(atMost: limit, what)) else {
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
