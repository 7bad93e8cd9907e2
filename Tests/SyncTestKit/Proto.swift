/// Builds protobuf by hand, valid or not, without the code under test.
package struct Proto: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package static func varint(_ value: UInt64) -> [UInt8] {
        var rest = value
        var bytes: [UInt8] = []
        repeat {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return bytes
    }

    package func raw(_ more: [UInt8]) -> Proto {
        var copy = self
        copy.bytes += more
        return copy
    }

    package func key(_ field: Int, wireType: Int) -> Proto { raw(Self.varint(UInt64(field) << 3 | UInt64(wireType))) }

    package func varint(_ field: Int, _ value: UInt64) -> Proto { key(field, wireType: 0).raw(Self.varint(value)) }

    package func signed(_ field: Int, _ value: Int64) -> Proto { varint(field, UInt64(bitPattern: value)) }

    package func bytes(_ field: Int, _ value: [UInt8]) -> Proto {
        key(field, wireType: 2).raw(Self.varint(UInt64(value.count))).raw(value)
    }

    package func text(_ field: Int, _ value: String) -> Proto { bytes(field, Array(value.utf8)) }

    package func message(_ field: Int, _ value: Proto) -> Proto { bytes(field, value.bytes) }

    package func fixed32(_ field: Int, _ value: UInt32) -> Proto {
        key(field, wireType: 5).raw(withUnsafeBytes(of: value.littleEndian) { Array($0) })
    }

    package func fixed64(_ field: Int, _ value: UInt64) -> Proto {
        key(field, wireType: 1).raw(withUnsafeBytes(of: value.littleEndian) { Array($0) })
    }
}

/// BEP's frames, built by hand.
package enum Frame {
    package static let clusterConfig = 0
    package static let index = 1
    package static let indexUpdate = 2
    package static let request = 3
    package static let response = 4
    package static let downloadProgress = 5
    package static let ping = 6
    package static let close = 7

    /// A Hello's frame.
    package static func hello(_ body: Proto = Proto()) -> [UInt8] {
        [0x2E, 0xA7, 0xD9, 0x0B] + bigEndian(UInt16(body.bytes.count)) + body.bytes
    }

    /// A message; its declared length is the body's unless told otherwise.
    package static func message(_ type: Int, _ body: Proto = Proto(), compression: Int = 0, length: Int? = nil)
        -> [UInt8]
    {
        let header = Proto().varint(1, UInt64(type)).varint(2, UInt64(compression))
        return bigEndian(UInt16(header.bytes.count)) + header.bytes
            + bigEndian(UInt32(length ?? body.bytes.count)) + body.bytes
    }

    /// A compressed message whose body declares that it unpacks to `declared` bytes.
    package static func compressed(_ type: Int, declared: Int, block: [UInt8]) -> [UInt8] {
        message(type, Proto().raw(bigEndian(UInt32(declared)) + block), compression: 1)
    }

    /// An LZ4 block that holds `bytes` as they are.
    package static func literals(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 15 else { return [UInt8(bytes.count << 4)] + bytes }
        let rest = bytes.count - 15
        return [0xF0] + [UInt8](repeating: 255, count: rest / 255) + [UInt8(rest % 255)] + bytes
    }

    package static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
