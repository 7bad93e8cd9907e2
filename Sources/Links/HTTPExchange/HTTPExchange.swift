import LinkSecurity
import NIOCore
import NIOHTTP1
import Transport

/// Sends requests, each on a connection of its own, and gives whole answers: HTTP/1.1, plain or with TLS.
///
/// Made for small services that nobody vouches for: everything is limited, nothing is followed.
package struct HTTPExchange: Sendable {
    private let streams: any StreamDialing

    /// - Parameter streams: opens the connections, directly or through a proxy.
    package init(streams: any StreamDialing) { self.streams = streams }

    /// Sends `request` and gives the answer, whatever its status is.
    ///
    /// - Parameter tls: for `https`; it is not used for `http`, where nobody knows who answers.
    /// - Throws: `HTTPExchangeError`; on cancellation `CancellationError`. The connection is closed in any case.
    package func answer(to request: HTTPRequest, tls: ServiceTLS?) async throws -> HTTPAnswer {
        let url = request.url
        if let invalid = request.fields.first(where: { !$0.isValid }) {
            throw HTTPExchangeError(
                .invalidRequest, "the header “\(invalid.name.printable)” cannot be sent; correct it",
                isTransient: false)
        }
        if url.scheme == .https, tls == nil {
            throw HTTPExchangeError(
                .invalidRequest, "\(url) needs TLS settings and has none; use http:// or give some", isTransient: false)
        }
        let deadline = NIODeadline.now() + TimeAmount(request.limits.timeout)
        do {
            return try await streams.connect(to: url.host, port: url.port, timeout: request.limits.timeout) { channel in
                let secured =
                    if url.scheme == .https, let tls {
                        tls.install(on: channel, host: url.host).map { Optional($0) }
                    } else {
                        channel.eventLoop.makeSucceededFuture(NegotiatedService?.none)
                    }
                return Self.exchange(request, on: channel, after: secured, deadline: deadline)
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw HTTPExchangeError(error, url: url)
        }
    }

    /// On the channel's event loop.
    static func exchange(
        _ request: HTTPRequest, on channel: any Channel, after secured: EventLoopFuture<NegotiatedService?>,
        deadline: NIODeadline
    ) -> EventLoopFuture<HTTPAnswer> {
        let promise = channel.eventLoop.makePromise(of: HTTPAnswer.self)
        let expiry = channel.eventLoop.scheduleTask(deadline: deadline) {
            promise.fail(
                HTTPExchangeError(
                    .timedOut, "\(request.url.host) did not answer in time; check the address, or try again later",
                    isTransient: true))
        }
        secured.assumeIsolated().whenComplete { result in
            switch result {
            case .failure(let error):
                promise.fail(error)
            case .success(let service):
                do {
                    try start(request, on: channel, certificate: service, promise: promise)
                } catch {
                    promise.fail(error)
                }
            }
        }
        // The answer is complete or of no use: either way nothing more is wanted of this connection.
        promise.futureResult.whenComplete { _ in
            expiry.cancel()
            channel.close(promise: nil)
        }
        return promise.futureResult
    }

    private static func start(
        _ request: HTTPRequest, on channel: any Channel, certificate: NegotiatedService?,
        promise: EventLoopPromise<HTTPAnswer>
    ) throws {
        let collector = AnswerCollector(request: request, certificate: certificate?.certificate, promise: promise)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([
            ByteAllowance(collector: collector),
            HTTPRequestEncoder(configuration: .init()),
            ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)),
            collector,
        ])
        var head = HTTPRequestHead(version: .http1_1, method: request.method.http, uri: request.url.target)
        head.headers.add(name: "Host", value: request.url.hostField)
        head.headers.add(name: "Connection", value: "close")
        if request.method == .post {
            head.headers.add(name: "Content-Length", value: String(request.body.readableBytes))
        }
        for field in request.fields { head.headers.add(name: field.name, value: field.value) }
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if request.body.readableBytes > 0 {
            channel.write(HTTPClientRequestPart.body(.byteBuffer(request.body)), promise: nil)
        }
        // A server may answer and close without reading everything; then the answer counts and not this.
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    }
}

extension HTTPRequest.Method {
    fileprivate var http: HTTPMethod {
        switch self {
        case .get: .GET
        case .post: .POST
        }
    }
}

extension HTTPField {
    /// Whether it makes one header line and no more.
    fileprivate var isValid: Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 == UInt8(ascii: "-") || Self.isAlphanumeric($0) }
            && value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
