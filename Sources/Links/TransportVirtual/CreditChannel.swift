import NIOCore

/// One end of an L2CAP channel with LE credit based flow control (Core Specification 5.3, Vol 3, Part A, 3.4 and 10.1).
///
/// Closing is the channel's, in both directions: a disconnection request follows the last byte.
struct CreditChannel: StreamEnd {
    /// Bytes that wait to be cut into frames.
    static let outgoingLimit = 8 * 1024
    private static let creditCode: UInt8 = 0x16
    private static let disconnectionCode: UInt8 = 0x06

    private let mtu: Int
    private let mps: Int
    /// Credits that a peer is given in the beginning: enough for one packet of the largest size.
    private let window: Int
    private var outgoing = ByteBuffer()
    /// Bytes of the packet that is being cut, which are the first of `outgoing`.
    private var packetRest = 0
    private var credits: Int
    private var isFinishing = false
    private var hasSentEnd = false
    private var incoming = ByteBuffer()
    /// Bytes still to come of the packet that is being put together.
    private var incomingRest = 0
    /// Credits that the peer has.
    private var grantedCredits: Int
    private(set) var state = StreamEndState.open
    private var nextIdentifier: UInt8 = 1

    init(_ conditions: RadioConditions) {
        mtu = min(conditions.channelMTU, Int(UInt16.max))
        mps = conditions.channelMPS
        window = mtu / mps + 2
        credits = window
        grantedCredits = window
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
        if let frame = creditFrame() { return frame }
        if packetRest == 0 {
            guard outgoing.readableBytes > 0 else { return endFrame() }
            guard credits > 0 else { return nil }
            packetRest = min(outgoing.readableBytes, mtu)
            let part = min(packetRest, mps - 2)
            var payload = ByteBuffer(integer: UInt16(truncatingIfNeeded: packetRest))
            append(part, to: &payload)
            return LinkFrame(channel: LinkFrame.firstDynamicChannel, payload: payload)
        }
        guard credits > 0 else { return nil }
        var payload = ByteBuffer()
        append(min(packetRest, mps), to: &payload)
        return LinkFrame(channel: LinkFrame.firstDynamicChannel, payload: payload)
    }

    mutating func receive(_ frame: LinkFrame, at now: Duration) {
        guard state == .open else { return }
        var payload = frame.payload
        if frame.channel == LinkFrame.signallingChannel { return receiveSignal(&payload) }
        guard frame.channel == LinkFrame.firstDynamicChannel, grantedCredits > 0 else { return state = .failed }
        grantedCredits -= 1
        if incomingRest == 0 {
            guard let byteCount = payload.readInteger(as: UInt16.self) else { return state = .failed }
            incomingRest = Int(byteCount)
        }
        guard payload.readableBytes <= incomingRest else { return state = .failed }
        incomingRest -= payload.readableBytes
        if incoming.readableBytes == 0 { incoming.clear() }
        incoming.writeImmutableBuffer(payload)
    }

    mutating func take(atMost byteCount: Int, at now: Duration) -> ByteBuffer {
        let bytes = incoming.readSlice(length: min(byteCount, incoming.readableBytes)) ?? ByteBuffer()
        if incoming.readerIndex > 64 * 1024 { incoming.discardReadBytes() }
        return bytes
    }

    private mutating func append(_ byteCount: Int, to payload: inout ByteBuffer) {
        credits -= 1
        packetRest -= byteCount
        if var part = outgoing.readSlice(length: byteCount) { payload.writeBuffer(&part) }
        if outgoing.readerIndex > 64 * 1024 { outgoing.discardReadBytes() }
    }

    /// Gives credits back when half of them are gone and the bytes they stood for were taken.
    private mutating func creditFrame() -> LinkFrame? {
        let due = window - grantedCredits - (incoming.readableBytes + mps - 1) / mps
        guard due >= max(1, window / 2) else { return nil }
        grantedCredits += due
        return signal(Self.creditCode, parameter: UInt16(truncatingIfNeeded: due))
    }

    private mutating func endFrame() -> LinkFrame? {
        guard isFinishing else { return nil }
        hasSentEnd = true
        return signal(Self.disconnectionCode, parameter: LinkFrame.firstDynamicChannel)
    }

    private mutating func signal(_ code: UInt8, parameter: UInt16) -> LinkFrame {
        var payload = ByteBuffer()
        payload.writeMultipleIntegers(
            code, nextIdentifier, UInt16(4), LinkFrame.firstDynamicChannel, parameter, endianness: .little)
        nextIdentifier = nextIdentifier == .max ? 1 : nextIdentifier + 1
        return LinkFrame(channel: LinkFrame.signallingChannel, payload: payload)
    }

    private mutating func receiveSignal(_ payload: inout ByteBuffer) {
        guard
            let (code, _, _, _, parameter) = payload.readMultipleIntegers(
                endianness: .little, as: (UInt8, UInt8, UInt16, UInt16, UInt16).self)
        else { return state = .failed }
        switch code {
        case Self.creditCode: credits = min(credits + Int(parameter), Int(UInt16.max))
        case Self.disconnectionCode: state = .ended
        default: break
        }
    }
}
