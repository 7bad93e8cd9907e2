import NIOCore

/// One end of a connection that carries single GATT values, for who puts packets on GATT itself: GhostDrop's first version.
///
/// Its bytes are records: `D` for the data characteristic or `C` for control (1), the value's length (2), the value. What a
/// central writes to data goes without response, and to control with one; what a peripheral writes are notifications.
/// Values that are too long, or that come faster than they are taken, are dropped as hosts do.
struct ValueEnd: StreamEnd {
    /// Bytes that wait to be sent.
    private static let outgoingLimit = 8 * 1024
    /// Bytes that wait to be taken.
    private static let incomingLimit = 256 * 1024
    private static let disconnectionCode: UInt8 = 0x06

    enum Characteristic: UInt8 {
        case data = 0x44
        case control = 0x43

        var handle: UInt16 { self == .data ? 0x0010 : 0x0012 }
    }

    private let side: VirtualLink.Side
    private let valueLimit: Int
    private var outgoing = ByteBuffer()
    private var incoming = ByteBuffer()
    /// Write requests that this end has to answer.
    private var responsesDue = 0
    /// A write request was sent and not answered: there is one at a time (Core Specification 5.3, Vol 3, Part F, 3.3.2).
    private var isRequesting = false
    private var isFinishing = false
    private var hasSentEnd = false
    private(set) var state = StreamEndState.open

    init(_ side: VirtualLink.Side, _ conditions: RadioConditions) {
        self.side = side
        valueLimit = Self.valueLimit(conditions)
    }

    static func valueLimit(_ conditions: RadioConditions) -> Int {
        min(conditions.attMTU - AttributeStream.headerByteCount, AttributeStream.valueLimit)
    }

    var room: Int { isFinishing ? 0 : max(0, Self.outgoingLimit - outgoing.readableBytes) }
    var nextDeadline: Duration? { nil }
    var availableByteCount: Int { incoming.readableBytes }

    mutating func write(_ bytes: ByteBuffer, at now: Duration) {
        guard !isFinishing else { return }
        if outgoing.readableBytes == 0 { outgoing.clear() }
        outgoing.writeImmutableBuffer(bytes)
    }

    mutating func finish(at now: Duration) { isFinishing = true }

    mutating func nextFrame(at now: Duration) -> LinkFrame? {
        guard state == .open, !hasSentEnd else { return nil }
        if responsesDue > 0 {
            responsesDue -= 1
            return LinkFrame(channel: LinkFrame.attributeChannel, payload: ByteBuffer(integer: LinkFrame.writeResponse))
        }
        while let (characteristic, value) = nextRecord() {
            guard value.readableBytes <= valueLimit else { continue }
            let isRequest = side == .central && characteristic == .control
            isRequesting = isRequest
            let operation: UInt8 =
                side == .peripheral
                ? LinkFrame.notification : isRequest ? LinkFrame.writeRequest : LinkFrame.writeCommand
            var payload = ByteBuffer()
            payload.writeInteger(operation)
            payload.writeInteger(characteristic.handle, endianness: .little)
            payload.writeImmutableBuffer(value)
            return LinkFrame(channel: LinkFrame.attributeChannel, payload: payload)
        }
        guard isFinishing, !isRequesting, state == .open else { return nil }
        hasSentEnd = true
        return LinkFrame(channel: LinkFrame.signallingChannel, payload: ByteBuffer(integer: Self.disconnectionCode))
    }

    mutating func receive(_ frame: LinkFrame, at now: Duration) {
        guard state == .open else { return }
        var payload = frame.payload
        guard frame.channel == LinkFrame.attributeChannel else { return state = .ended }
        switch payload.readInteger(as: UInt8.self) {
        case LinkFrame.writeResponse:
            isRequesting = false
            return
        case LinkFrame.writeRequest: responsesDue += 1
        default: break
        }
        let handle = payload.readInteger(endianness: .little, as: UInt16.self)
        let characteristic = handle == Characteristic.control.handle ? Characteristic.control : .data
        guard incoming.readableBytes + payload.readableBytes + 3 <= Self.incomingLimit else { return }
        if incoming.readableBytes == 0 { incoming.clear() }
        incoming.writeInteger(characteristic.rawValue)
        incoming.writeInteger(UInt16(truncatingIfNeeded: payload.readableBytes))
        incoming.writeImmutableBuffer(payload)
    }

    mutating func take(atMost byteCount: Int, at now: Duration) -> ByteBuffer {
        let bytes = incoming.readSlice(length: min(byteCount, incoming.readableBytes)) ?? ByteBuffer()
        if incoming.readerIndex > 64 * 1024 { incoming.discardReadBytes() }
        return bytes
    }

    /// The next whole record that may be sent now. What is no record ends the connection.
    private mutating func nextRecord() -> (Characteristic, ByteBuffer)? {
        guard !isRequesting else { return nil }
        var rest = outgoing
        guard let kind = rest.readInteger(as: UInt8.self), let count = rest.readInteger(as: UInt16.self) else {
            return nil
        }
        guard let characteristic = Characteristic(rawValue: kind) else {
            state = .failed
            return nil
        }
        guard let value = rest.readSlice(length: Int(count)) else { return nil }
        outgoing = rest
        if outgoing.readerIndex > 64 * 1024 { outgoing.discardReadBytes() }
        return (characteristic, value)
    }
}
