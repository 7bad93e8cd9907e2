import BlockExchange
import NIOCore
import NIOHTTP1

/// Collects the parts of one answer within its limits, and completes the promise.
final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private enum State {
        case waiting
        case receiving(HTTPAnswer)
        case done
    }

    private let request: HTTPRequest
    private let certificate: DeviceID?
    private let promise: EventLoopPromise<HTTPAnswer>
    private var state = State.waiting
    /// How many bytes of the body have come.
    private(set) var bodyByteCount = 0

    init(request: HTTPRequest, certificate: DeviceID?, promise: EventLoopPromise<HTTPAnswer>) {
        self.request = request
        self.certificate = certificate
        self.promise = promise
    }

    var limits: HTTPLimits { request.limits }

    var isDone: Bool { if case .done = state { true } else { false } }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), state) {
        case (.head(let head), .waiting):
            received(head)
        case (.body(let bytes), .receiving(var answer)):
            // The copy that the state holds would make each append a copy of the whole.
            state = .waiting
            bodyByteCount += bytes.readableBytes
            guard bodyByteCount <= limits.bodyByteCount else {
                fail(.tooLarge, "answered more than \(limits.bodyByteCount) bytes")
                return
            }
            answer.body.writeImmutableBuffer(bytes)
            state = .receiving(answer)
        case (.end, .receiving(let answer)):
            state = .done
            promise.succeed(answer)
        case (_, .done), (_, .waiting), (.head, .receiving):
            // What follows the end, and what the decoder never gives.
            break
        }
    }

    private func received(_ head: HTTPResponseHead) {
        let status = Int(head.status.code)
        let fields = head.headers.map { HTTPField($0.name, $0.value) }
        if (300..<400).contains(status), status != 304 {
            let target = head.headers.first(name: "location").map { " to \($0.prefix(200))".printable } ?? ""
            fail(.redirected, "redirects\(target); enter the address of the server itself")
            return
        }
        if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }), length > limits.bodyByteCount {
            fail(.tooLarge, "answers \(length) bytes, more than \(limits.bodyByteCount)")
            return
        }
        state = .receiving(HTTPAnswer(status: status, fields: fields, certificate: certificate))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case HTTPParserError.invalidEOFState: failClosedEarly(cause: error)
        case is HTTPParserError: fail(.malformed, "does not answer in HTTP", cause: error)
        // A TLS end without close_notify, and a connection reset: what has come so far may be half of it.
        default: failClosedEarly(cause: error)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        failClosedEarly(cause: nil)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { failClosedEarly(cause: nil) }

    private func failClosedEarly(cause: (any Error)?) {
        fail(.closedEarly, "closed the connection before the end of its answer", isTransient: true, cause: cause)
    }

    func fail(_ code: HTTPExchangeError.Code, _ what: String, isTransient: Bool = false, cause: (any Error)? = nil) {
        guard !isDone else { return }
        state = .done
        let remedy = code == .redirected ? "" : "; check the address, or ask its owner"
        promise.fail(
            HTTPExchangeError(
                code, "\(request.url.host) \(what)\(remedy)", isTransient: isTransient,
                cause: cause.map { String(describing: $0) }))
    }
}

/// Limits what comes besides the body: status line, headers, interim answers, chunk sizes, trailers.
///
/// The parser keeps headers until they are complete, so they are counted before it. The shortest chunks take six bytes
/// for one of the body, hence the factor.
final class ByteAllowance: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let collector: AnswerCollector
    private var byteCount = 0

    init(collector: AnswerCollector) { self.collector = collector }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while bytes.readableBytes > 0, !collector.isDone {
            let allowance = collector.limits.headerByteCount + 8 * collector.bodyByteCount - byteCount
            guard allowance > 0, let piece = bytes.readSlice(length: min(allowance, bytes.readableBytes)) else {
                collector.fail(.tooLarge, "answers more than \(collector.limits.headerByteCount) bytes of headers")
                return
            }
            byteCount += piece.readableBytes
            context.fireChannelRead(wrapInboundOut(piece))
        }
    }
}
