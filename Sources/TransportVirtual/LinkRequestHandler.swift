import NIOCore
import Transport

/// The device's end of a connection to the air until it is a link: asks, waits for the answer, and then lets the
/// installer have the channel.
final class LinkRequestHandler<Output: Sendable>: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: AirRequest
    private let address: LinkAddress
    private let isInitiator: Bool
    private let install: LinkInstaller<Output>
    private let promise: EventLoopPromise<Output>
    private var reader = LineReader(limit: AirRequest.lineLimit)
    private var isLinked = false

    /// - Parameter address: what is dialled or listened on, for messages.
    init(
        _ request: AirRequest, address: LinkAddress, isInitiator: Bool, install: @escaping LinkInstaller<Output>,
        promise: EventLoopPromise<Output>
    ) {
        self.request = request
        self.address = address
        self.isInitiator = isInitiator
        self.install = install
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
        case .linked(let mode, let remote): link(context, mode, remote)
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
        promise.fail(error)
        context.close(promise: nil)
    }

    private func link(_ context: ChannelHandlerContext, _ mode: VirtualConnection.Mode, _ remote: String) {
        isLinked = true
        let information = LinkInformation(
            kind: mode.linkKind, remoteAddress: LinkAddress.virtual(remote).description, isInitiator: isInitiator)
        information.start(on: context.channel, install: install).cascade(to: promise)
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
        case .gatt: .gatt
        }
    }
}
