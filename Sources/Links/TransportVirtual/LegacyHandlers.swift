import GhostDrop
import NIOCore
import Transport

/// Makes a stream of v1 frames of single GATT values, which `ValueEnd` carries as records.
final class LegacyValueHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let isCentral: Bool
    private var stream: DropPacketStream
    private var incoming = ByteBuffer()
    private let start = NIODeadline.now()

    init(isCentral: Bool, valueLimit: Int) {
        self.isCentral = isCentral
        stream = DropPacketStream(maximumPacket: valueLimit)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        incoming.writeImmutableBuffer(unwrapInboundIn(data))
        while let value = nextValue() {
            let frame = stream.receive(value.readableBytesView, at: now)
            if !frame.isEmpty { context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: frame))) }
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        do {
            try stream.write(unwrapOutboundIn(data).readableBytesView)
        } catch {
            promise?.fail(error)
            context.fireErrorCaught(error)
            return context.close(promise: nil)
        }
        var records = ByteBuffer()
        while let packet = stream.nextPacket() {
            let isOnData = packet.isBulk || !isCentral
            records.writeInteger((isOnData ? ValueEnd.Characteristic.data : .control).rawValue)
            records.writeInteger(UInt16(truncatingIfNeeded: packet.bytes.count))
            records.writeBytes(packet.bytes)
        }
        context.write(wrapOutboundOut(records), promise: promise)
    }

    private var now: Duration { .nanoseconds((NIODeadline.now() - start).nanoseconds) }

    private func nextValue() -> ByteBuffer? {
        var rest = incoming
        guard rest.readInteger(as: UInt8.self) != nil, let count = rest.readInteger(as: UInt16.self),
            let value = rest.readSlice(length: Int(count))
        else { return nil }
        incoming = rest
        if incoming.readableBytes == 0 { incoming.clear() } else { incoming.discardReadBytes() }
        return value
    }
}

/// Waits for a link's first bytes and says which protocol they begin; what comes is passed on from then on.
final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: TimeAmount
    private var decide: ((FirstByte?) -> Void)?
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - limit: how long the peer may say nothing; then the channel is closed.
    ///   - decide: called once; nil when nothing came.
    init(limit: TimeAmount, decide: @escaping (FirstByte?) -> Void) {
        self.limit = limit
        self.decide = decide
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let first = unwrapInboundIn(data).readableBytesView.first { decided(FirstByte(first)) }
        context.fireChannelRead(data)
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        decided(nil)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { decided(nil) }

    private func decided(_ byte: FirstByte?) {
        timer?.cancel()
        timer = nil
        decide?(byte)
        decide = nil
    }
}
