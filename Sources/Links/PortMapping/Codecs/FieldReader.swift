/// Reads big-endian fields from the front of received bytes.
struct FieldReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { rest = Array(bytes)[...] }

    var remainingCount: Int { rest.count }

    /// - Throws: `malformed` if fewer bytes are left.
    mutating func bytes(_ count: Int) throws(PortMappingError) -> [UInt8] {
        guard count >= 0, rest.count >= count else { throw .malformed("the answer is too short") }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func uint8() throws(PortMappingError) -> UInt8 { try bytes(1)[0] }

    mutating func uint16() throws(PortMappingError) -> UInt16 { try bytes(2).reduce(0) { $0 << 8 | UInt16($1) } }

    mutating func uint32() throws(PortMappingError) -> UInt32 { try bytes(4).reduce(0) { $0 << 8 | UInt32($1) } }
}

extension FixedWidthInteger {
    /// The bytes in network order.
    var networkBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
