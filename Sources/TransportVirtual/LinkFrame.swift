import NIOCore

/// One L2CAP frame: what the hosts at both ends hand to their controllers.
public struct LinkFrame: Sendable, Equatable {
    /// Channel identifiers of LE (Core Specification 5.3, Vol 3, Part A, 2.1).
    public static let attributeChannel: UInt16 = 0x0004
    public static let signallingChannel: UInt16 = 0x0005
    public static let firstDynamicChannel: UInt16 = 0x0040

    /// Bytes of the basic header: length and channel.
    public static let headerByteCount = 4

    public var channel: UInt16
    public var payload: ByteBuffer

    public init(channel: UInt16, payload: ByteBuffer) {
        self.channel = channel
        self.payload = payload
    }

    public var byteCount: Int { Self.headerByteCount + payload.readableBytes }

    /// Whether this is a GATT write without response or a notification, which hosts may drop or reorder.
    var isDatagram: Bool { channel == Self.attributeChannel }
}
