import NIOCore

/// Performs a handshake at the end of a connection's pipeline, then hands the connection over and leaves.
///
/// `handOver` adds the handlers of the connection at the pipeline's end before it returns; bytes of the target that came
/// right behind the proxy's answer reach them at once.
final class ProxyHandshakeHandler<Output: Sendable>: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let proxy: ProxyAddress
    private let target: String
    private let limit: TimeAmount
    private let handOver: (any Channel) -> EventLoopFuture<Output>
    private var handshake: any ProxyHandshake
    private var received = ByteBuffer()
    private var deadline: Scheduled<Void>?
    /// Nil once the handshake has ended, either way.
    private var output: EventLoopPromise<Output>?

    init(
        proxy: ProxyAddress, target: String, handshake: any ProxyHandshake, limit: TimeAmount,
        output: EventLoopPromise<Output>, handOver: @escaping (any Channel) -> EventLoopFuture<Output>
    ) {
        self.proxy = proxy
        self.target = target
        self.handshake = handshake
        self.limit = limit
        self.output = output
        self.handOver = handOver
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard context.channel.isActive else {
            fail(closed, context)
            return
        }
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { [self, context] in
            fail(
                ProxyError(
                    .timedOut,
                    "the proxy \(proxy) did not connect to \(target) in time; check that both are on, and that it is a proxy of that kind"
                ),
                context)
        }
        context.writeAndFlush(NIOAny(handshake.start()), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var piece = unwrapInboundIn(data)
        guard output != nil else {
            // Only after a failure, until the channel is closed: a success leaves the pipeline at once.
            return
        }
        received.writeBuffer(&piece)
        do {
            while true {
                switch try handshake.step(&received) {
                case .needMore: return
                case .send(let message): context.writeAndFlush(NIOAny(message), promise: nil)
                case .established:
                    succeed(context)
                    return
                }
            }
        } catch {
            fail(error, context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(closed, context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard output != nil else {
            context.fireErrorCaught(error)
            return
        }
        fail(
            ProxyError(
                .closedByProxy, "the connection to the proxy \(proxy) was lost; it will be tried again",
                cause: String(describing: error)), context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { fail(closed, context) }

    private var closed: ProxyError {
        ProxyError(
            .closedByProxy,
            "the proxy \(proxy) closed the connection before it was connected to \(target); its log may tell why")
    }

    private func succeed(_ context: ChannelHandlerContext) {
        guard let output = end() else { return }
        output.completeWith(handOver(context.channel))
        if received.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(received.slice()))
            context.fireChannelReadComplete()
        }
        received = ByteBuffer()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func fail(_ error: ProxyError, _ context: ChannelHandlerContext) {
        guard let output = end() else { return }
        output.fail(error)
        context.close(promise: nil)
    }

    private func end() -> EventLoopPromise<Output>? {
        deadline?.cancel()
        deadline = nil
        defer { output = nil }
        return output
    }
}
