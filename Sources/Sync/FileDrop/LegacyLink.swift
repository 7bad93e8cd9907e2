import AsyncTools
import ControlAPI
import GhostDrop
import NIOCore
import Synchronization
import Transport

/// A link of GhostDrop's first version: bytes of frames both ways.
///
/// What arrives is held until it is taken, at most `incomingLimit` and what comes in one read; then the peer has to wait.
/// Who writes looks at `canWrite` first.
package final class LegacyLink: Sendable {
    private struct State {
        var incoming = ByteBuffer()
        var hasEnded = false
        var isPaused = false
        /// Nobody wants what still arrives.
        var isLeaving = false
    }

    private static let incomingLimit = 64 << 10
    /// How long the peer may take to read the last word.
    private static let leavingLimit = TimeAmount.seconds(10)

    package let information: LinkInformation
    /// What the dialled device says of itself; empty at that device's end.
    package let capabilities: [UInt8]
    private let channel: any Channel
    private let wake: Signal
    private let state = Mutex(State())

    private init(_ channel: any Channel, _ information: LinkInformation, _ capabilities: [UInt8], wake: Signal) {
        self.channel = channel
        self.information = information
        self.capabilities = capabilities
        self.wake = wake
    }

    /// - Parameter wake: notified when something has arrived, when there is room to write again, and at the end.
    package static func install(
        _ channel: any Channel, _ information: LinkInformation, capabilities: [UInt8] = [], wake: Signal
    ) -> EventLoopFuture<LegacyLink> {
        let link = LegacyLink(channel, information, capabilities, wake: wake)
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Handler(link))
            return link
        }
    }

    /// What has arrived; nil if nothing has.
    package func take() -> ByteBuffer? {
        let (bytes, resumes) = state.withLock { state in
            defer {
                state.incoming = ByteBuffer()
                state.isPaused = false
            }
            return (state.incoming, state.isPaused)
        }
        if resumes { channel.setOption(.autoRead, value: true).whenFailure { _ in } }
        return bytes.readableBytes > 0 ? bytes : nil
    }

    /// Hands on what has arrived, and then the end.
    func passFrames(to machine: inout some DropMachine, _ reader: inout DropFrameReader, at now: Duration) {
        let hasEnded = hasEnded
        if let bytes = take() {
            reader.append(bytes.readableBytesView)
            do throws(GhostDropError) {
                while let frame = try reader.next() { machine.receive(frame, at: now) }
            } catch {
                machine.fail(error)
            }
        } else if hasEnded {
            machine.linkEnded()
        }
    }

    /// Whether the link is over; what came before may still have to be taken.
    package var hasEnded: Bool { state.withLock { $0.hasEnded } }

    var canWrite: Bool { channel.isWritable && !hasEnded }

    package func write(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Closes the link, and returns when it is closed.
    package func close() async {
        channel.close(promise: nil)
        try? await channel.closeFuture.get()
    }

    /// Ends the link of a transfer that has failed. Who has not had the last word closes it at once: the other waits for
    /// that. A task that is cancelled waits for nothing.
    package func end(hasLastWord: Bool, _ environment: DropEnvironment) async {
        guard hasLastWord else { return await close() }
        if Task.isCancelled { environment.start { await self.leave() } } else { await leave() }
    }

    /// Lets the peer read the last word and end the link, and ends it if it does not: to close at once would take the word
    /// back where the peer is still writing.
    private func leave() async {
        state.withLock { $0.isLeaving = true }
        _ = take()
        let channel = channel
        let limit = channel.eventLoop.scheduleTask(in: Self.leavingLimit) { channel.close(promise: nil) }
        try? await channel.closeFuture.get()
        limit.cancel()
    }

    /// Closes a link that nobody wants.
    package func drop() { channel.close(promise: nil) }

    /// Makes the machine of a transfer over this link, which is of no use where there is none.
    func orDropped<Machine>(_ make: () throws -> Machine) throws(ControlError) -> Machine {
        do {
            return try make()
        } catch let error as GhostDropError {
            drop()
            throw ControlError(error)
        } catch {
            drop()
            throw ControlError(.dropFailed, "No key can be created: \(error).")
        }
    }

    /// Returns when something has happened or is due; what is due may have to wait for the link.
    func wait(until deadline: Duration?, _ conversation: DropConversation, _ environment: DropEnvironment) async {
        guard let deadline else { return await conversation.wake.wait() }
        let rest = max(deadline - environment.now(), canWrite ? .zero : .seconds(1))
        if rest > .zero { await conversation.wake.wait(atMost: rest, clock: environment.time.clock) }
    }

    private func received(_ bytes: ByteBuffer) {
        let isFull = state.withLock { state in
            guard !state.isLeaving else { return false }
            state.incoming.writeImmutableBuffer(bytes)
            guard state.incoming.readableBytes >= Self.incomingLimit, !state.isPaused else { return false }
            state.isPaused = true
            return true
        }
        if isFull { channel.setOption(.autoRead, value: false).whenFailure { _ in } }
        wake.notify()
    }

    private func ended() {
        state.withLock { $0.hasEnded = true }
        wake.notify()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let link: LegacyLink

        init(_ link: LegacyLink) { self.link = link }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { link.received(unwrapInboundIn(data)) }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            link.wake.notify()
            context.fireChannelWritabilityChanged()
        }

        func channelInactive(context: ChannelHandlerContext) {
            link.ended()
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
