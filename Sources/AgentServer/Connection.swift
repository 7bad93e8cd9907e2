import ControlAPI
import NIOCore
import NIOHTTP1

/// An accepted connection and the one request that it brings.
struct Connection: Sendable {
    let channel: any Channel
    /// Fails with `ControlError` for what is not a request, too large, or late.
    let request: EventLoopFuture<ControlRequest>

    /// On the channel's event loop.
    /// - Parameter bodyLimit: bytes of a request's body.
    init(channel: any Channel, limits: AgentServer.Limits, bodyLimit: Int) throws {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = ControlLimits.requestHead
        decoding.maxHeaderListSize = ControlLimits.requestHead
        let promise = channel.eventLoop.makePromise(of: ControlRequest.self)
        let pipeline = channel.pipeline.syncOperations
        do {
            try pipeline.addHandler(RequestSizeLimit(bytes: ControlLimits.requestHead + bodyLimit))
            // No pipelining assistance: it stops reading while an answer is under way, and the end of the connection
            // would go unseen.
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false, withErrorHandling: false, withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: decoding)
            try pipeline.addHandler(RequestCollector(request: promise, bodyLimit: bodyLimit))
        } catch {
            promise.fail(error)
            throw error
        }
        self.channel = channel
        request = promise.futureResult
        let deadline = channel.eventLoop.scheduleTask(in: limits.requestTime) { channel.close(promise: nil) }
        request.whenSuccess { _ in deadline.cancel() }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
    }

    /// Runs `work` and cancels it when the client closes the connection.
    func untilClosed(_ work: @escaping @Sendable () async -> Void) async {
        let (closed, closing) = AsyncStream.makeStream(of: Void.self)
        channel.closeFuture.whenComplete { _ in closing.finish() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await work() }
            group.addTask { for await _ in closed {} }
            await group.next()
            group.cancelAll()
        }
    }
}

/// Lets so many bytes of a connection through; swallows the rest after saying once that it is too large.
final class RequestSizeLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var remaining: Int

    init(bytes: Int) { remaining = bytes }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard remaining >= 0 else { return }
        remaining -= Self.unwrapInboundIn(data).readableBytes
        if remaining >= 0 {
            context.fireChannelRead(data)
        } else {
            context.fireErrorCaught(ControlError.requestTooLarge)
        }
    }
}

/// Puts the first request of a connection together. What comes behind it is ignored.
final class RequestCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private var request: EventLoopPromise<ControlRequest>?
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private let bodyLimit: Int

    init(request: EventLoopPromise<ControlRequest>, bodyLimit: Int) {
        self.request = request
        self.bodyLimit = bodyLimit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard request != nil else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }),
                length > bodyLimit
            {
                fail(ControlError.requestTooLarge)
            }
        case .body(let part):
            if body.count + part.readableBytes > bodyLimit {
                fail(ControlError.requestTooLarge)
            } else {
                body += part.readableBytesView
            }
        case .end:
            guard let head else { return }
            let promise = request
            request = nil
            promise?.succeed(ControlRequest(head: head, body: body))
            body = []
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as ControlError: fail(error)
        case HTTPParserError.headerOverflow: fail(ControlError.requestTooLarge)
        case is HTTPParserError: fail(ControlError(.invalidRequest, "This is not HTTP/1.1: \(error)."))
        default: fail(ControlError(.interrupted, "The connection broke: \(error).", isRetryable: true))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(ControlError(.interrupted, "The connection ended before the request did.", isRetryable: true))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        fail(ControlError(.interrupted, "The connection ended before the request did.", isRetryable: true))
    }

    private func fail(_ error: ControlError) {
        let promise = request
        request = nil
        body = []
        promise?.fail(error)
    }
}

extension ControlError {
    static let requestTooLarge = ControlError(
        .tooLarge,
        "A request has at most \(ControlLimits.requestHead) bytes of headers and \(ControlLimits.requestBody) of body.")
}
