import NIOCore

/// The air's end of one device's connection: lines at first, a link's bytes later.
final class AirClient: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Role {
        case lines(LineReader)
        case stream(StreamPump, VirtualLink.Side)
        case closed
    }

    private let switchboard: AirSwitchboard
    private let channel: any Channel
    private var role = Role.lines(LineReader(limit: AirRequest.lineLimit))

    init(switchboard: AirSwitchboard, channel: any Channel) {
        self.switchboard = switchboard
        self.channel = channel
    }

    func answer(_ answer: AirAnswer) { channel.writeAndFlush(ByteBuffer(string: answer.line + "\n"), promise: nil) }

    /// From here on the connection is the byte stream of a link.
    func become(_ side: VirtualLink.Side, of pump: StreamPump) { role = .stream(pump, side) }

    func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void> { channel.writeAndFlush(bytes) }

    func read() { channel.read() }

    func close() { channel.close(promise: nil) }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch role {
        case .lines(var reader):
            reader.append(unwrapInboundIn(data))
            role = .lines(reader)
            handleLines()
        case .stream(let pump, let side): pump.received(unwrapInboundIn(data), from: side)
        case .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .lines = role { context.read() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let role = role
        self.role = .closed
        switch role {
        case .lines: switchboard.left(self)
        case .stream(let pump, let side): pump.closed(side)
        case .closed: break
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func handleLines() {
        while case .lines(var reader) = role {
            let line = reader.next()
            role = .lines(reader)
            guard let line else {
                if reader.isTooLong { close() }
                return
            }
            guard let request = AirRequest(line: line) else {
                return answer(.refused(.notUnderstood, "invalid request"))
            }
            switchboard.handle(request, from: self)
        }
    }
}
