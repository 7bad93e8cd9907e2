import BlockExchange
import Cryptography
import NIOCore

/// Runs the preamble of a link, and then hides and uncovers what passes.
final class PreambleHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Who is at the other end, by its own word and the proof; nil if it wants to pair.
    typealias Outcome = DeviceID?

    /// One direction's cipher.
    private final class Veil {
        private var cipher: AES256CTR

        init(key: [UInt8]) throws(CryptographyError) { cipher = try AES256CTR(key: key) }

        func apply(to buffer: inout ByteBuffer) throws {
            try buffer.withUnsafeMutableReadableBytes { try cipher.apply(to: $0) }
        }
    }

    private var machine: PreambleMachine
    private let isDialler: Bool
    private let patience: TimeAmount
    private let promise: EventLoopPromise<Outcome>
    private var inward: Veil?
    private var outward: Veil?
    private var expiry: Scheduled<Void>?
    /// Whether the other side has said anything behind the preamble: only one that is convinced does.
    private(set) var isAnswered = false

    /// - Parameter patience: when a link on which nothing convincing came is closed, counted from its beginning.
    init(_ role: PreambleMachine.Role, nonce: [UInt8], patience: TimeAmount, promise: EventLoopPromise<Outcome>) {
        machine = PreambleMachine(role, nonce: nonce)
        if case .responder = role { isDialler = false } else { isDialler = true }
        self.patience = patience
        self.promise = promise
    }

    func handlerAdded(context: ChannelHandlerContext) {
        expiry = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { self.expire(context) }
        if context.channel.isActive { start(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    private func start(_ context: ChannelHandlerContext) { perform(machine.start(), context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard machine.isOpen else {
            perform(machine.receive(bytes.readableBytesView), context)
            let rest = machine.rest()
            if !rest.isEmpty { pass(ByteBuffer(bytes: rest), context) }
            return
        }
        isAnswered = true
        do {
            try inward?.apply(to: &bytes)
            context.fireChannelRead(wrapInboundOut(bytes))
        } catch {
            context.fireErrorCaught(error)
        }
    }

    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        var bytes = bytes
        isAnswered = true
        do {
            try inward?.apply(to: &bytes)
            context.fireChannelRead(wrapInboundOut(bytes))
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let outward else { return context.write(data, promise: promise) }
        var bytes = unwrapOutboundIn(data)
        do {
            try outward.apply(to: &bytes)
            context.write(wrapOutboundOut(bytes), promise: promise)
        } catch {
            promise?.fail(error)
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func perform(_ events: [PreambleMachine.Event], _ context: ChannelHandlerContext) {
        for event in events {
            switch event {
            case .send(let bytes):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            case .opened(let peer, let keys):
                do throws(CryptographyError) {
                    inward = try Veil(key: isDialler ? keys.responderKey : keys.diallerKey)
                    outward = try Veil(key: isDialler ? keys.diallerKey : keys.responderKey)
                } catch {
                    promise.fail(error)
                    return context.close(promise: nil)
                }
                open(peer)
            case .openedForPairing: open(nil)
            }
        }
    }

    /// Whoever waits for the promise adds the handlers behind this one before it returns.
    private func open(_ peer: DeviceID?) {
        expiry?.cancel()
        promise.succeed(peer)
    }

    private func expire(_ context: ChannelHandlerContext) {
        end()
        context.close(promise: nil)
    }

    private func end() {
        expiry?.cancel()
        guard !machine.isOpen else { return }
        promise.fail(
            LinkSecurityError(
                .notWelcome, "the other end did not prove that it knows this device; the connection was refused")
        )
    }
}
