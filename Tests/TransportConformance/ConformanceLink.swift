import NIOCore
import Synchronization
import Transport

/// One end of a link in the suite's hands: reads only when told to.
final class ConformanceLink: Sendable {
    let channel: any Channel
    let information: LinkInformation
    private let inbox: Inbox

    /// What has been read and not been taken; filled by the channel's handler.
    final class Inbox: Sendable {
        private struct State {
            var pieces: [ByteBuffer] = []
            var isOver = false
            var error: (any Error)?
            var waiter: CheckedContinuation<Void, Never>?
        }

        private let state = Mutex(State())

        func put(_ piece: ByteBuffer) { change { $0.pieces.append(piece) } }
        func end() { change { $0.isOver = true } }
        func fail(_ error: any Error) { change { $0.error = $0.error ?? error } }

        /// What there is, once there is something; nil at the end.
        func take() async -> [ByteBuffer]? {
            while true {
                let (pieces, isOver) = state.withLock { state in
                    defer { state.pieces = [] }
                    return (state.pieces, state.isOver)
                }
                if !pieces.isEmpty { return pieces }
                if isOver { return nil }
                await withCheckedContinuation { continuation in
                    let isReady = state.withLock { state in
                        guard state.pieces.isEmpty, !state.isOver else { return true }
                        state.waiter = continuation
                        return false
                    }
                    if isReady { continuation.resume() }
                }
            }
        }

        private func change(_ body: (inout State) -> Void) {
            let waiter = state.withLock { state in
                body(&state)
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let inbox: Inbox

        init(inbox: Inbox) { self.inbox = inbox }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { inbox.put(unwrapInboundIn(data)) }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case ChannelEvent.inputClosed? = event as? ChannelEvent { inbox.end() }
            context.fireUserInboundEventTriggered(event)
        }

        func channelInactive(context: ChannelHandlerContext) {
            inbox.end()
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            inbox.fail(error)
            context.close(promise: nil)
        }
    }

    private static let socketBufferByteCount: SocketOptionValue = 1 << 20

    private init(channel: any Channel, information: LinkInformation, inbox: Inbox) {
        self.channel = channel
        self.information = information
        self.inbox = inbox
    }

    /// An installer. `keepsHalf`: whether this end stays open when the other one has ended its bytes.
    static func installer(keepsHalf: Bool = false) -> LinkInstaller<ConformanceLink> {
        { channel, information in
            let inbox = Inbox()
            // Else Linux lets the buffers of a TCP connection grow to tens of MiB.
            if information.kind == .tcp {
                for option in [ChannelOptions.socketOption(.so_rcvbuf), ChannelOptions.socketOption(.so_sndbuf)] {
                    channel.setOption(option, value: socketBufferByteCount).whenFailure { _ in }
                }
            }
            return channel.eventLoop.makeCompletedFuture {
                if keepsHalf { try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true) }
                try channel.pipeline.syncOperations.addHandler(Handler(inbox: inbox))
                return ConformanceLink(channel: channel, information: information, inbox: inbox)
            }
        }
    }

    /// Whether the channel reads by itself.
    func setReading(_ reads: Bool) async throws { try await channel.setOption(.autoRead, value: reads).get() }

    /// Writes, and returns when the bytes have left the channel's own buffer.
    func write(_ bytes: ByteBuffer) async throws {
        try await closingWhenCancelled { try await $0.writeAndFlush(bytes).get() }
    }

    /// What has come since the last call, once there is something; nil at the end.
    func read() async -> [ByteBuffer]? { await closingWhenCancelled { _ in await inbox.take() } }

    /// Returns when the channel is closed, by whomever.
    func closed() async throws { try await closingWhenCancelled { try await $0.closeFuture.get() } }

    func closeOutput() async throws { try await channel.close(mode: .output).get() }

    func close() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
    }

    /// A check that failed, or took too long, cancels its tasks: what they wait for here then comes, for the link ends.
    private func closingWhenCancelled<Value: Sendable>(
        _ body: (any Channel) async throws -> Value
    ) async rethrows -> Value {
        let channel = channel
        return try await withTaskCancellationHandler {
            try await body(channel)
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Lets the channel's loop come round once.
    func turn() async throws { try await channel.eventLoop.submit {}.get() }
}
