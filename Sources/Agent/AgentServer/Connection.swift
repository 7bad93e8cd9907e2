import ControlAPI
import NIOCore
import NIOHTTP1

/// An accepted connection and the one request that it brings.
struct Connection: Sendable {
    let channel: any Channel
    /// Fails with `RequestRefusal` for what is not a request, too large, late, or not let in.
    let request: EventLoopFuture<ControlRequest>

    /// On the channel's event loop.
    /// - Parameter admit: says of a request without its body what it is let in for; nothing behind the head is kept of one
    ///   that it throws for.
    init(
        channel: any Channel, limits: ServerLimits,
        admit: @escaping @Sendable (ControlRequest) throws(ControlError) -> Admission
    ) throws {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = ControlLimits.requestHead
        decoding.maxHeaderListSize = ControlLimits.requestHead
        let promise = channel.eventLoop.makePromise(of: ControlRequest.self)
        let pipeline = channel.pipeline.syncOperations
        do {
            try pipeline.addHandler(RequestSizeLimit(bytes: ControlLimits.requestHead + ControlLimits.requestBody))
            // No pipelining assistance: it stops reading while an answer is under way, and the end of the connection
            // would go unseen.
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false, withErrorHandling: false, withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: decoding)
            try pipeline.addHandler(RequestCollector(request: promise, admit: admit))
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

/// Why a request is not answered as it was meant.
struct RequestRefusal: Error {
    var error: ControlError
    /// Whether the client may be writing still: an answer has to wait for it, or it would not be read.
    var isWriting = false
}

/// Puts the first request of a connection together. What comes behind it is ignored.
final class RequestCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private var promise: EventLoopPromise<ControlRequest>?
    /// What has come of the request.
    private var request: ControlRequest?
    private let admit: @Sendable (ControlRequest) throws(ControlError) -> Admission

    init(
        request: EventLoopPromise<ControlRequest>,
        admit: @escaping @Sendable (ControlRequest) throws(ControlError) -> Admission
    ) {
        promise = request
        self.admit = admit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard promise != nil else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head): begin(head, from: context.channel.remoteAddress)
        case .body(let part):
            guard let limit = request?.admission.bodyLimit, let count = request?.body.count else { return }
            if part.readableBytes > limit - count {
                fail(ControlError.requestTooLarge, isWriting: true)
            } else {
                request?.body += part.readableBytesView
            }
        case .end:
            guard let request else { return }
            let promise = promise
            (self.promise, self.request) = (nil, nil)
            promise?.succeed(request)
        }
    }

    private func begin(_ head: HTTPRequestHead, from address: SocketAddress?) {
        let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        var request = ControlRequest(head: head)
        request.source = address
        do throws(ControlError) {
            request.admission = try admit(request)
        } catch {
            return fail(error, isWriting: length > 0 || head.headers.contains(name: "transfer-encoding"))
        }
        guard length <= request.admission.bodyLimit else { return fail(ControlError.requestTooLarge, isWriting: true) }
        self.request = request
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as ControlError: fail(error, isWriting: true)
        case HTTPParserError.headerOverflow: fail(ControlError.requestTooLarge, isWriting: true)
        case is HTTPParserError: fail(ControlError(.invalidRequest, "This is not HTTP/1.1: \(error)."))
        default: fail(ControlError(.interrupted, "The connection failed: \(error).", isRetryable: true))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(ControlError(.interrupted, "The connection ended before the request did.", isRetryable: true))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        fail(ControlError(.interrupted, "The connection ended before the request did.", isRetryable: true))
    }

    private func fail(_ error: ControlError, isWriting: Bool = false) {
        let promise = promise
        (self.promise, request) = (nil, nil)
        promise?.fail(RequestRefusal(error: error, isWriting: isWriting))
    }
}

extension ControlError {
    static let requestTooLarge = ControlError(
        .tooLarge,
        "A request has at most \(ControlLimits.requestHead) bytes of headers and \(ControlLimits.requestBody) of body.")
}
