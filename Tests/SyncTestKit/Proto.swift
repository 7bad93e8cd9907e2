/// Builds protobuf by hand, valid or not, without the code under test.
public struct Proto: Sendable {
    public private(set) var bytes: [UInt8] = []

    public init() {}

    public static func varint(_ value: UInt64) -> [UInt8] {
        var rest = value
        var bytes: [UInt8] = []
        repeat {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return bytes
    }

    public func raw(_ more: [UInt8]) -> Proto {
        var copy = self
        copy.bytes += more
        return copy
    }

    public func key(_ field: Int, wireType: Int) -> Proto { raw(Self.varint(UInt64(field) << 3 | UInt64(wireType))) }

    public func varint(_ field: Int, _ value: UInt64) -> Proto { key(field, wireType: 0).raw(Self.varint(value)) }

    public func signed(_ field: Int, _ value: Int64) -> Proto { varint(field, UInt64(bitPattern: value)) }

    public func bytes(_ field: Int, _ value: [UInt8]) -> Proto {
        key(field, wireType: 2).raw(Self.varint(UInt64(value.count))).raw(value)
    }

    public func text(_ field: Int, _ value: String) -> Proto { bytes(field, Array(value.utf8)) }

    public func message(_ field: Int, _ value: Proto) -> Proto { bytes(field, value.bytes) }

    public func fixed32(_ field: Int, _ value: UInt32) -> Proto {
        key(field, wireType: 5).raw(withUnsafeBytes(of: value.littleEndian) { Array($0) })
    }

    public func fixed64(_ field: Int, _ value: UInt64) -> Proto {
        key(field, wireType: 1).raw(withUnsafeBytes(of: value.littleEndian) { Array($0) })
    }
}

/// BEP's frames, built by hand.
public enum Frame {
    public static let clusterConfig = 0
    public static let index = 1
    public static let indexUpdate = 2
    public static let request = 3
    public static let response = 4
    public static let downloadProgress = 5
    public static let ping = 6
    public static let close = 7

    /// A Hello's frame.
    public static func hello(_ body: Proto = Proto()) -> [UInt8] {
        [0x2E, 0xA7, 0xD9, 0x0B] + bigEndian(UInt16(body.bytes.count)) + body.bytes
    }

    /// A message; its declared length is the body's unless told otherwise.
    public static func message(_ type: Int, _ body: Proto = Proto(), compression: Int = 0, length: Int? = nil)
        -> [UInt8]
    {
        let header = Proto().varint(1, UInt64(type)).varint(2, UInt64(compression))
        return bigEndian(UInt16(header.bytes.count)) + header.bytes
            + bigEndian(UInt32(length ?? body.bytes.count)) + body.bytes
    }

    /// A compressed message whose body declares that it unpacks to `declared` bytes.
    public static func compressed(_ type: Int, declared: Int, block: [UInt8]) -> [UInt8] {
        message(type, Proto().raw(bigEndian(UInt32(declared)) + block), compression: 1)
    }

    /// An LZ4 block that holds `bytes` as they are.
    public static func literals(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 15 else { return [UInt8(bytes.count << 4)] + bytes }
        let rest = bytes.count - 15
        return [0xF0] + [UInt8](repeating: 255, count: rest / 255) + [UInt8(rest % 255)] + bytes
    }

    public static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
