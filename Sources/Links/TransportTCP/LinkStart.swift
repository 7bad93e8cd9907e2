import NIOCore
import Transport

/// Stops accepting while the listener is full; the kernel's queue holds the peers meanwhile.
final class AcceptGate<Output: Sendable>: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = Never

    private let accepted: AcceptedLinks<Output>

    init(accepted: AcceptedLinks<Output>) { self.accepted = accepted }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        accepted.admit(unwrapInboundIn(data))
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        // A read that is left out here is made up for when a place becomes free: see `AcceptedLinks`.
        if !accepted.isFull { context.read() }
    }
}

/// Starts an accepted link as soon as it is active, and leaves the pipeline.
final class LinkStart: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let start: (any Channel) -> Void

    init(start: @escaping (any Channel) -> Void) { self.start = start }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        let channel = context.channel
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        start(channel)
    }
}
