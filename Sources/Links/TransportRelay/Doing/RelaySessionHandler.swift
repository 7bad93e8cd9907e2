import NIOCore

/// Joins a session on a connection that has just come up, and hands the pipe over.
final class RelaySessionHandler<Output: Sendable>: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let limit: Duration
    private let start: (any Channel) -> EventLoopFuture<Output>
    private var machine: SessionMachine
    private var promise: EventLoopPromise<Output>?
    private var expiry: Scheduled<Void>?

    /// - Parameters:
    ///   - limit: for the relay's response.
    ///   - promise: gets what `start` makes of the pipe; fails with `RelayError` if there is none.
    ///   - start: called on the event loop once the session stands. Handlers that it adds at the end of the pipeline
    ///     before it returns see every byte of the other device.
    init(
        machine: SessionMachine, limit: Duration, promise: EventLoopPromise<Output>,
        start: @escaping (any Channel) -> EventLoopFuture<Output>
    ) {
        self.machine = machine
        self.limit = limit
        self.promise = promise
        self.start = start
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(machine.request.encoded), promise: nil)
        expiry = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) {
            self.fail(
                RelayError(.timedOut, "the relay did not open the session within \(self.limit)"), context: context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard promise != nil else {
            context.fireChannelRead(data)
            return
        }
        switch machine.read(unwrapInboundIn(data)) {
        case .waiting: break
        case .failed(let error): fail(error, context: context)
        case .open(let rest): open(rest, context: context)
        }
    }

    private func open(_ rest: ByteBuffer, context: ChannelHandlerContext) {
        guard let promise = take() else { return }
        start(context.channel).cascade(to: promise)
        if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard promise != nil else {
            context.fireErrorCaught(error)
            return
        }
        fail(
            RelayError(.failed, "the connection to the relay broke", cause: String(describing: error)), context: context
        )
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(RelayError(.closed, "the relay closed the connection before the session stood"), context: context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        fail(RelayError(.closed, "the connection was closed before the session stood"), context: context)
    }

    private func fail(_ error: RelayError, context: ChannelHandlerContext) {
        guard let promise = take() else { return }
        promise.fail(error)
        context.close(promise: nil)
    }

    private func take() -> EventLoopPromise<Output>? {
        defer { promise = nil }
        expiry?.cancel()
        return promise
    }
}
