import NIOCore

/// One L2CAP frame: what the hosts at both ends hand to their controllers.
package struct LinkFrame: Sendable, Equatable {
    /// Channel identifiers of LE (Core Specification 5.3, Vol 3, Part A, 2.1).
    package static let attributeChannel: UInt16 = 0x0004
    package static let signallingChannel: UInt16 = 0x0005
    package static let firstDynamicChannel: UInt16 = 0x0040

    /// Bytes of the basic header: length and channel.
    package static let headerByteCount = 4

    package var channel: UInt16
    package var payload: ByteBuffer

    package init(channel: UInt16, payload: ByteBuffer) {
        self.channel = channel
        self.payload = payload
    }

    package var byteCount: Int { Self.headerByteCount + payload.readableBytes }

    /// ATT's operations (Core Specification 5.3, Vol 3, Part F, 3.4.5 and 3.4.7).
    static let writeRequest: UInt8 = 0x12
    static let writeResponse: UInt8 = 0x13
    static let notification: UInt8 = 0x1B
    static let writeCommand: UInt8 = 0x52

    /// Whether this is a GATT write without response or a notification, which hosts may drop or reorder.
    var isDatagram: Bool {
        guard channel == Self.attributeChannel else { return false }
        let operation = payload.getInteger(at: payload.readerIndex, as: UInt8.self)
        return operation == Self.writeCommand || operation == Self.notification
    }
}
