import GhostDrop
import NIOCore

/// One end of a stream of GATT values: writes without response from the central, notifications from the peripheral.
struct AttributeStream: StreamEnd {
    /// ATT's operation and handle before a value (Core Specification 5.3, Vol 3, Part F, 3.4.5 and 3.4.7).
    static let headerByteCount = 3
    private static let handle: UInt16 = 0x0010
    /// More than this vanishes silently on BlueZ 5.66.
    static let valueLimit = 510

    private let operation: UInt8
    private var stream: GATTStream
    /// What was written and the stream has no room for yet.
    private var pending = ByteBuffer()
    private var isFinishing = false

    init(_ side: VirtualLink.Side, _ conditions: RadioConditions, token: UInt32) {
        operation = side == .central ? LinkFrame.writeCommand : LinkFrame.notification
        stream = GATTStream(
            role: side == .central ? .central : .peripheral,
            maximumPacket: min(conditions.attMTU - Self.headerByteCount, Self.valueLimit), token: token)
    }

    var room: Int { pending.readableBytes > 0 || isFinishing ? 0 : stream.writableCount }
    var nextDeadline: Duration? { stream.nextDeadline }
    var availableByteCount: Int { stream.readableCount }

    mutating func write(_ bytes: ByteBuffer, at now: Duration) {
        guard !isFinishing else { return }
        pending.writeImmutableBuffer(bytes)
        writePending()
    }

    mutating func finish(at now: Duration) {
        isFinishing = true
        writePending()
    }

    mutating func nextFrame(at now: Duration) -> LinkFrame? {
        writePending()
        guard let value = stream.nextPacket(at: now) else { return nil }
        var payload = ByteBuffer()
        payload.reserveCapacity(Self.headerByteCount + value.count)
        payload.writeInteger(operation)
        payload.writeInteger(Self.handle, endianness: .little)
        payload.writeBytes(value)
        return LinkFrame(channel: LinkFrame.attributeChannel, payload: payload)
    }

    mutating func receive(_ frame: LinkFrame, at now: Duration) {
        guard frame.channel == LinkFrame.attributeChannel else { return }
        stream.receive(frame.payload.readableBytesView.dropFirst(Self.headerByteCount), at: now)
    }

    mutating func take(atMost byteCount: Int, at now: Duration) -> ByteBuffer {
        ByteBuffer(bytes: stream.read(maximum: byteCount))
    }

    var state: StreamEndState {
        switch stream.state {
        case .opening, .open: .open
        case .peerFinished, .finished, .closed(.finished): .ended
        case .closed: .failed
        }
    }

    private mutating func writePending() {
        if pending.readableBytes > 0 {
            pending.moveReaderIndex(forwardBy: stream.write(pending.readableBytesView))
            if pending.readableBytes == 0 { pending.clear() }
        }
        if isFinishing, pending.readableBytes == 0 { stream.finish() }
    }
}
