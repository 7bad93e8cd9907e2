import NIOCore

/// The first bytes on a link, each way (BEP v1, Hello): who is there, before either side knows the other.
public struct Hello: Equatable, Sendable {
    public var deviceName: String
    public var clientName: String
    public var clientVersion: String
    /// How many connections the sender would like; zero and one mean one.
    public var connectionCount: Int32
    /// Nanoseconds since 1970; orders connections.
    public var timestamp: Int64

    public static let magic: UInt32 = 0x2EA7_D90B
    static let maximumByteCount = 32_767
    static let oldMagics: Set<UInt32> = [0x9F79_BC40, 0x0001_0000, 0x0001_0001]

    public init(
        deviceName: String, clientName: String, clientVersion: String, connectionCount: Int32 = 0, timestamp: Int64 = 0
    ) {
        self.deviceName = deviceName
        self.clientName = clientName
        self.clientVersion = clientVersion
        self.connectionCount = connectionCount
        self.timestamp = timestamp
    }

    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        self.init(deviceName: "", clientName: "", clientVersion: "")
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                deviceName = try reader.text(atMost: limits.textByteCount, "a device name")
            case 2:
                try reader.expect(tag, .bytes)
                clientName = try reader.text(atMost: limits.textByteCount, "a client name")
            case 3:
                try reader.expect(tag, .bytes)
                clientVersion = try reader.text(atMost: limits.textByteCount, "a client version")
            case 4:
                try reader.expect(tag, .varint)
                connectionCount = try reader.int32()
            case 5:
                try reader.expect(tag, .varint)
                timestamp = try reader.int64()
            default: try reader.skip(tag.type)
            }
        }
    }

    /// The whole Hello as it goes on the wire: magic, length, message. Texts are cut to what peers take.
    func encoded(limits: ExchangeLimits) -> ByteBuffer {
        var writer = WireWriter()
        writer.field(1, text: deviceName.prefix(utf8ByteCount: limits.textByteCount))
        writer.field(2, text: clientName.prefix(utf8ByteCount: limits.textByteCount))
        writer.field(3, text: clientVersion.prefix(utf8ByteCount: limits.textByteCount))
        writer.field(4, signed: Int64(connectionCount))
        writer.field(5, signed: timestamp)
        var buffer = ByteBufferAllocator().buffer(capacity: writer.bytes.count + 6)
        buffer.writeInteger(Self.magic)
        buffer.writeInteger(UInt16(clamping: writer.bytes.count))
        buffer.writeBytes(writer.bytes)
        return buffer
    }
}
