import BlockExchange
import NIOCore
import NIOSSL
import NIOTLS
import Phrases

/// Sits behind the TLS handler during the handshake with a service: decides about its certificate, limits the time, and
/// leaves the pipeline when the handshake is done.
final class ServiceHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let trust: ServiceTLS.Trust
    private let host: String
    private let limit: TimeAmount
    private var promise: EventLoopPromise<NegotiatedService>?
    private var expiry: Scheduled<Void>?
    /// Why `verify` said no; the TLS library only reports that it did.
    private var refusal: LinkSecurityError?
    /// The server's own certificate as the TLS handler knows it, for authorities' verification is the library's.
    var certificate: () -> NIOSSLCertificate? = { nil }

    init(
        trust: ServiceTLS.Trust, host: String, limit: TimeAmount, promise: EventLoopPromise<NegotiatedService>
    ) {
        self.trust = trust
        self.host = host
        self.limit = limit
        self.promise = promise
    }

    func handlerAdded(context: ChannelHandlerContext) {
        expiry = context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.fail(
                LinkSecurityError(
                    .handshakeTimeout, "the TLS handshake with \(self.host) timed out; check the address and the port"),
                context: context)
        }
    }

    /// Decides from the server's certificates, as they were sent, whether the handshake may go on.
    func verify(_ certificates: [NIOSSLCertificate]) -> NIOSSLVerificationResult {
        guard let device = certificates.first.flatMap(Self.device) else {
            refusal = LinkSecurityError(.noCertificate, "\(host) presented no certificate; check the address")
            return .failed
        }
        if case .pinned(let expected) = trust, device != expected {
            refusal = LinkSecurityError(
                .otherDevice,
                "\(host) has the id \(device), not the one given as id=; if its owner has changed its certificate, "
                    + "correct the id, else do not use it")
            return .failed
        }
        return .certificateVerified
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            completed(applicationProtocol: negotiated, context: context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func completed(applicationProtocol: String?, context: ChannelHandlerContext) {
        guard let promise else { return }
        // The library's word for the verification's result and ours are the same certificate; asked for once more so that
        // no way round the callback remains.
        guard let leaf = certificate(), case .certificateVerified = verify([leaf]), let device = Self.device(leaf)
        else {
            fail(
                refusal ?? LinkSecurityError(.noCertificate, "\(host) presented no certificate; check the address"),
                context: context)
            return
        }
        expiry?.cancel()
        self.promise = nil
        promise.succeed(NegotiatedService(applicationProtocol: applicationProtocol, certificate: device))
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if promise == nil {
            context.fireErrorCaught(error)
        } else {
            fail(refusal ?? LinkSecurityError(service: host, error), context: context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(refusal ?? Self.closed(host), context: context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { fail(refusal ?? Self.closed(host), context: context) }

    private func fail(_ error: LinkSecurityError, context: ChannelHandlerContext) {
        guard let promise else { return }
        self.promise = nil
        expiry?.cancel()
        promise.fail(error)
        context.close(promise: nil)
    }

    private static func device(_ certificate: NIOSSLCertificate) -> DeviceID? {
        (try? certificate.toDERBytes()).map { DeviceID(certificateDER: $0) }
    }

    private static func closed(_ host: String) -> LinkSecurityError {
        LinkSecurityError(
            .closedInHandshake,
            "\(host) closed the connection during the TLS handshake; check the port, or try again later")
    }
}

extension LinkSecurityError {
    /// What an error of the TLS library means towards a service. BoringSSL's reasons can only be told apart by their names.
    init(service host: String, _ error: any Error) {
        if let error = error as? LinkSecurityError {
            self = error
            return
        }
        let cause = String(describing: error)
        func names(_ reasons: String...) -> Bool { reasons.contains { cause.contains($0) } }
        if error is IOError || names("EOF during handshake") {
            self.init(
                .closedInHandshake,
                "\(host) closed the connection during the TLS handshake; check the port, or try again later",
                cause: cause)
        } else if names("UNSUPPORTED_PROTOCOL", "ALERT_PROTOCOL_VERSION") {
            self.init(.oldTLS, "\(host) does not offer TLS 1.2 or later; ask its owner to update it", cause: cause)
        } else if names("CERTIFICATE_VERIFY_FAILED", "unableToValidateCertificate", "failedToValidateHostname") {
            self.init(
                .unusableCertificate,
                "the certificate of \(host) is not valid for it; check the address and this machine's clock, or give the "
                    + "server's id as id=DEVICE-ID",
                cause: cause)
        } else if names("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST") {
            self.init(.notTLS, "\(host) does not speak TLS; check the port", cause: cause)
        } else if names("NO_APPLICATION_PROTOCOL", "INVALID_ALPN_PROTOCOL") {
            self.init(.otherProtocol, "\(host) is not the kind of server expected; check the port", cause: cause)
        } else if names("_ALERT_") {
            self.init(
                .refusedByPeer, "\(host) refused the TLS handshake; check the address, or ask its owner", cause: cause)
        } else if names("invalidSNIHostname") {
            self.init(.failed, "“\(host)” is not a host name; correct the address", cause: cause)
        } else {
            self.init(.failed, "TLS with \(host) failed: \(cause)", cause: cause)
        }
    }
}
