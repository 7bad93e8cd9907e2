import NIOCore

/// Sends bytes on a secured link, no faster than they leave.
///
/// NIO's own writer hands pieces to the event loop without limit while the loop is busy; this one lets each caller have
/// one piece there at a time.
package struct LinkWriter: Sendable {
    private let eventLoop: any EventLoop
    private let gate: NIOLoopBound<WriteGate>

    init(eventLoop: any EventLoop, gate: WriteGate) {
        self.eventLoop = eventLoop
        self.gate = NIOLoopBound(gate, eventLoop: eventLoop)
    }

    /// Sends `bytes` and returns when fewer than the link's watermark wait to be sent: over TCP 512 KiB.
    ///
    /// Pieces of one task, and pieces of several tasks each by itself, arrive whole and in order. To send a message of
    /// several pieces beside other tasks takes one writer task.
    /// - Throws: `ChannelError` when the link is closed, before or while waiting. On cancellation `CancellationError`;
    ///   the piece may have been sent all the same.
    package func write(_ bytes: ByteBuffer) async throws {
        try Task.checkCancellation()
        let promise = eventLoop.makePromise(of: Void.self)
        eventLoop.execute { gate.value.write(bytes, promise: promise) }
        try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            // The gate may complete it a second time, which is harmless.
            promise.fail(CancellationError())
        }
    }
}

/// Passes a link's outgoing pieces on, and keeps those waiting who wrote one while the channel was full.
final class WriteGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var context: ChannelHandlerContext?
    /// One per task that writes.
    private var waiting: [EventLoopPromise<Void>] = []

    func write(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>) {
        guard let context, context.channel.isActive else {
            promise.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        if context.channel.isWritable { promise.succeed() } else { waiting.append(promise) }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        resumeAll { $0.fail(ChannelError.ioOnClosedChannel) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { resumeAll { $0.succeed() } }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        resumeAll { $0.fail(ChannelError.ioOnClosedChannel) }
        context.fireChannelInactive()
    }

    private func resumeAll(_ resume: (EventLoopPromise<Void>) -> Void) {
        let promises = waiting
        waiting = []
        for promise in promises { resume(promise) }
    }
}
