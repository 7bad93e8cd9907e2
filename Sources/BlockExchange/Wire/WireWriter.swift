import Cryptography
import NIOCore

/// Writes protobuf fields; as in proto3, zero and empty values are left out.
struct WireWriter {
    private(set) var bytes: [UInt8]

    init(reserving count: Int = 0) {
        bytes = []
        bytes.reserveCapacity(count)
    }

    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func key(_ field: Int, _ type: WireReader.WireType) {
        varint(UInt64(field) << 3 | UInt64(type.rawValue))
    }

    mutating func field(_ field: Int, unsigned value: UInt64) {
        guard value != 0 else { return }
        key(field, .varint)
        varint(value)
    }

    mutating func field(_ number: Int, signed value: Int64) { field(number, unsigned: UInt64(bitPattern: value)) }

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

    /// A nested message, written even when it is empty: its presence counts.
    mutating func field(_ field: Int, message: [UInt8]) {
        key(field, .bytes)
        varint(UInt64(message.count))
        bytes.append(contentsOf: message)
    }

    /// Fields that are in wire form already.
    mutating func raw(_ fields: [UInt8]) { bytes.append(contentsOf: fields) }
}
