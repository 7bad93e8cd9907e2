import Cryptography

/// Writes protobuf fields; as in proto3, zero and empty values are left out.
struct WireWriter {
    private(set) var bytes: [UInt8]

    init(reserving count: Int = 0) {
        bytes = []
        bytes.reserveCapacity(count)
    }

    @inline(__always)
    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    private mutating func key(_ field: Int, _ type: WireReader.WireType) {
        varint(UInt64(field) << 3 | UInt64(type.rawValue))
    }

    @inline(__always)
    mutating func field(_ field: Int, unsigned value: UInt64) {
        guard value != 0 else { return }
        key(field, .varint)
        varint(value)
    }

    @inline(__always)
    mutating func field(_ number: Int, signed value: Int64) { field(number, unsigned: UInt64(bitPattern: value)) }

    @inline(__always)
    mutating func field(_ number: Int, flag value: Bool) { field(number, unsigned: value ? 1 : 0) }

    mutating func field(_ field: Int, text value: String) {
        guard !value.isEmpty else { return }
        key(field, .bytes)
        varint(UInt64(value.utf8.count))
        bytes.append(contentsOf: value.utf8)
    }

    mutating func field(_ field: Int, bytes value: some Collection<UInt8>) {
        guard !value.isEmpty else { return }
        key(field, .bytes)
        varint(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func field(_ field: Int, digest: SHA256Digest) {
        key(field, .bytes)
        varint(32)
        digest.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    /// A nested message, written in place by `write` and even when it is empty: its presence counts.
    @inline(__always)
    mutating func message(_ field: Int, _ write: (inout WireWriter) -> Void) {
        key(field, .bytes)
        let start = bytes.count
        bytes.append(0)
        write(&self)
        let count = bytes.count - start - 1
        if count < 0x80 { bytes[start] = UInt8(truncatingIfNeeded: count) } else { widenLength(at: start, to: count) }
    }

    /// Gives a length of more than 127 the room that one byte at `start` did not leave.
    private mutating func widenLength(at start: Int, to count: Int) {
        var length = WireWriter(reserving: 10)
        length.varint(UInt64(count))
        bytes.replaceSubrange(start...start, with: length.bytes)
    }

    /// Fields that are in wire form already.
    mutating func raw(_ fields: [UInt8]) { bytes.append(contentsOf: fields) }
}
