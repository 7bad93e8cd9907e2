import NIOCore

/// Performs what a conversation with a relay decides, on the relay's TLS.
final class RelayConversationHandler<Machine: RelayConversation>: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let report: (RelayReport) -> Void
    private let ended: (RelayError?) -> Void
    private var machine: Machine
    private var reader = RelayFrameReader()
    private var timer: Scheduled<Void>?
    private var hasEnded = false

    /// - Parameters:
    ///   - report: called on the event loop.
    ///   - ended: called once on the event loop, after the last report.
    init(machine: Machine, report: @escaping (RelayReport) -> Void, ended: @escaping (RelayError?) -> Void) {
        self.machine = machine
        self.report = report
        self.ended = ended
    }

    func handlerAdded(context: ChannelHandlerContext) {
        perform(machine.begin(at: now(context)), context: context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        reader.append(unwrapInboundIn(data))
        do throws(RelayError) {
            while !hasEnded, let message = try reader.next() { handle(.received(message), context: context) }
        } catch {
            handle(.failed(error), context: context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is RelayDoubt { handle(.doubted, context: context) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        handle(
            .failed(RelayError(.failed, "the connection to the relay broke", cause: String(describing: error))),
            context: context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        handle(.closed, context: context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { handle(.closed, context: context) }

    private func now(_ context: ChannelHandlerContext) -> Duration {
        .nanoseconds((context.eventLoop.now - .uptimeNanoseconds(0)).nanoseconds)
    }

    private func handle(_ event: RelayEvent, context: ChannelHandlerContext) {
        perform(machine.handle(event, at: now(context)), context: context)
    }

    private func perform(_ actions: [RelayAction], context: ChannelHandlerContext) {
        for action in actions where !hasEnded {
            switch action {
            case .report(let report): self.report(report)
            case .end(let error): end(error, context: context)
            case .send(let message):
                // Whoever asks and reads no answers would make them pile up here.
                guard context.channel.isWritable else {
                    end(RelayError(.silent, "the relay no longer reads what it is sent"), context: context)
                    return
                }
                context.writeAndFlush(wrapOutboundOut(message.encoded), promise: nil)
            }
        }
        schedule(context: context)
    }

    private func schedule(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        guard !hasEnded, let deadline = machine.deadline else { return }
        let pause = TimeAmount(max(.zero, deadline - now(context)))
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
            self.handle(.timePassed, context: context)
        }
    }

    private func end(_ error: RelayError?, context: ChannelHandlerContext) {
        guard !hasEnded else { return }
        hasEnded = true
        timer?.cancel()
        timer = nil
        context.close(promise: nil)
        ended(error)
    }
}

/// A user event for a joined relay's pipeline: find out at once whether the relay still answers.
struct RelayDoubt: Sendable {}
