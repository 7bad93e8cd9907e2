import NIOCore
import Transport

/// What the air says of a connection that has become a link.
struct AirLink: Sendable {
    var mode: VirtualConnection.Mode
    /// The longest value, where it carries values.
    var valueLimit: Int?
    var information: LinkInformation
}

/// The device's end of a connection to the air until it is a link: asks, waits for the answer, and then hands the channel
/// on.
final class LinkRequestHandler<Output: Sendable>: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: AirRequest
    private let address: LinkAddress
    private let isInitiator: Bool
    private let start: @Sendable (any Channel, AirLink) -> EventLoopFuture<Output>
    private let promise: EventLoopPromise<Output>
    private var reader = LineReader(limit: AirRequest.lineLimit)
    private var isLinked = false

    /// - Parameters:
    ///   - address: what is dialled or listened on, for messages.
    ///   - start: starts the link on its channel, which has `autoRead` off until then.
    init(
        _ request: AirRequest, address: LinkAddress, isInitiator: Bool,
        start: @escaping @Sendable (any Channel, AirLink) -> EventLoopFuture<Output>, promise: EventLoopPromise<Output>
    ) {
        self.request = request
        self.address = address
        self.isInitiator = isInitiator
        self.start = start
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request.line + "\n")), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isLinked else { return context.fireChannelRead(data) }
        reader.append(unwrapInboundIn(data))
        guard let line = reader.next() else {
            if reader.isTooLong { fail(context, "the air at the socket speaks another language") }
            return
        }
        switch AirAnswer(line: line) {
        case .linked(let mode, let remote, let value): link(context, mode, remote, value)
        case .refused(let refusal, let text):
            promise.fail(
                LinkError(
                    .refused, "cannot link with \(address) over the virtual radio: \(text)",
                    isTransient: refusal != .incompatible, cause: refusal.rawValue))
            context.close(promise: nil)
        default: fail(context, "the air at the socket speaks another language")
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !isLinked else { return context.fireChannelReadComplete() }
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(context, "the air was closed")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isLinked else { return context.fireErrorCaught(error) }
        promise.fail(
            LinkError(
                .unreachable, "\(address) is not reached over the virtual radio: the connection to the air broke",
                isTransient: true, cause: "\(error)"))
        context.close(promise: nil)
    }

    private func link(
        _ context: ChannelHandlerContext, _ mode: VirtualConnection.Mode, _ remote: String, _ valueLimit: Int?
    ) {
        isLinked = true
        let information = LinkInformation(
            kind: mode.linkKind, remoteAddress: LinkAddress.virtual(remote).description, isInitiator: isInitiator)
        start(context.channel, AirLink(mode: mode, valueLimit: valueLimit, information: information))
            .cascade(to: promise)
        let rest = reader.rest()
        if rest.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(rest))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func fail(_ context: ChannelHandlerContext, _ reason: String) {
        guard !isLinked else { return }
        promise.fail(
            LinkError(.unreachable, "\(address) is not reached over the virtual radio: \(reason)", isTransient: true))
        context.close(promise: nil)
    }
}

extension VirtualConnection.Mode {
    /// A link over the virtual radio is of the kind that it plays, so that all that depends on the kind (the choice
    /// between links, what goes over Bluetooth at all) is tried as it will be; its address says that it is virtual.
    var linkKind: LinkKind {
        switch self {
        case .l2cap: .l2cap
        case .gatt, .values: .gatt
        }
    }
}
