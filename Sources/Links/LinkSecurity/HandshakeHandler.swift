import BlockExchange
import NIOCore
import NIOSSL
import NIOTLS
import Transport

/// Sits behind the TLS handler: decides about the peer, makes the `SecureLink`, and later turns the TLS library's events
/// into plain ones.
final class HandshakeHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private enum State {
        /// Left by the handshake's end, the limit, an error or the channel's end.
        case handshaking(EventLoopPromise<SecureLink>, limit: Scheduled<Void>?)
        case open
        /// Left by the channel's end only: what arrives is dropped.
        case closing
    }

    private struct Peer {
        var device: DeviceID
        var names: CertificateNames
    }

    private let own: DeviceID
    /// Who it has to be; nil for anybody.
    private let expected: DeviceID?
    private let information: LinkInformation
    private let applicationProtocols: [String]
    private let clientHello: ClientHelloObserver?
    private let limit: TimeAmount
    private var state: State
    private var peer: Peer?
    /// Why `verify` said no; the TLS library only reports that it did.
    private var refusal: LinkSecurityError?

    init(
        own: DeviceID, expected: DeviceID?, information: LinkInformation, applicationProtocols: [String],
        clientHello: ClientHelloObserver?, limit: TimeAmount, promise: EventLoopPromise<SecureLink>
    ) {
        self.own = own
        self.expected = expected
        self.information = information
        self.applicationProtocols = applicationProtocols
        self.clientHello = clientHello
        self.limit = limit
        state = .handshaking(promise, limit: nil)
    }

    // MARK: the handshake

    func handlerAdded(context: ChannelHandlerContext) {
        guard case .handshaking(let promise, nil) = state else { return }
        let expiry = context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.fail(
                LinkSecurityError(
                    .handshakeTimeout,
                    "the TLS handshake timed out; check that the port belongs to a device"
                ), context: context)
        }
        state = .handshaking(promise, limit: expiry)
    }

    /// Decides from the peer's certificates, as they were sent, whether the handshake may go on.
    func verify(_ certificates: [NIOSSLCertificate]) -> NIOSSLVerificationResult {
        guard let certificate = certificates.first, let der = try? certificate.toDERBytes() else {
            refusal = LinkSecurityError(
                .noCertificate, "the other end presented no certificate; check that the port belongs to a device")
            return .failed
        }
        guard certificates.count == 1 else {
            refusal = LinkSecurityError(
                .severalCertificates,
                "the other end presented \(certificates.count) certificates; a device has exactly one")
            return .failed
        }
        let device = DeviceID(certificateDER: der)
        guard device != own else {
            refusal = LinkSecurityError(
                .ownDevice,
                "the device at \(information.remoteAddress) has this device's own id; "
                    + "remove that address, and never copy a key to a second device")
            return .failed
        }
        guard expected == nil || device == expected else {
            refusal = LinkSecurityError(
                .otherDevice,
                "\(information.remoteAddress) is answered by a different device; correct the "
                    + "address or the id")
            return .failed
        }
        guard let names = CertificateNames(certificateDER: der) else {
            refusal = LinkSecurityError(.unusableCertificate, "the other end's certificate cannot be read")
            return .failed
        }
        peer = Peer(device: device, names: names)
        return .certificateVerified
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            handshakeCompleted(negotiatedProtocol: negotiated, context: context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func handshakeCompleted(negotiatedProtocol: String?, context: ChannelHandlerContext) {
        guard case .handshaking(let promise, let expiry) = state else { return }
        guard let peer else {
            // A resumed session brings no certificate along; we hand none out that could be resumed in earnest.
            fail(
                LinkSecurityError(
                    .noCertificate,
                    "the other end resumed an old session instead of presenting "
                        + "its certificate"),
                context: context)
            return
        }
        if negotiatedProtocol == nil, let refusal = refusalOfUnnamedProtocol {
            fail(refusal, context: context)
            return
        }
        do {
            let gate = WriteGate()
            try context.pipeline.syncOperations.addHandler(gate, position: .after(self))
            let channel = try NIOAsyncChannel<ByteBuffer, Never>(
                wrappingChannelSynchronously: context.channel,
                configuration: .init(backPressureStrategy: .init(lowWatermark: 2, highWatermark: 8)))
            expiry?.cancel()
            state = .open
            promise.succeed(
                SecureLink(
                    peer: peer.device, names: peer.names, information: information,
                    applicationProtocol: negotiatedProtocol, channel: channel,
                    writer: LinkWriter(eventLoop: context.eventLoop, gate: gate)))
        } catch {
            fail(LinkSecurityError(tls: error), context: context)
        }
    }

    /// Why no link comes of a handshake in which no protocol was agreed on; nil if it is BEP all the same.
    private var refusalOfUnnamedProtocol: LinkSecurityError? {
        if !applicationProtocols.contains(LinkAuthenticator.blockExchangeProtocol) {
            return .notPairing
        }
        // No protocol at all is taken for BEP, as Syncthing takes it; TLS lets a server overlook a list it cannot serve.
        if let clientHello, !clientHello.offersNoProtocol {
            return LinkSecurityError(.otherProtocol, "the other end speaks another protocol than BEP")
        }
        return nil
    }

    private func fail(_ error: LinkSecurityError, context: ChannelHandlerContext) {
        guard case .handshaking(let promise, let expiry) = state else { return }
        expiry?.cancel()
        state = .closing
        promise.fail(error)
        context.close(promise: nil)
    }

    // MARK: the open link

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch state {
        case .handshaking:
            fail(refusal ?? LinkSecurityError(tls: error), context: context)
        case .open:
            switch error {
            case NIOSSLError.uncleanShutdown:
                // No close_notify: BEP's own framing tells a truncated message, so this is an end like another.
                break
            case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
                context.fireErrorCaught(LinkSecurityError(tls: error))
            default:
                context.fireErrorCaught(error)
            }
        case .closing:
            break
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .open = state { context.fireChannelRead(data) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if case .closing = state { context.read() }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else {
            context.close(mode: mode, promise: promise)
            return
        }
        if case .handshaking(let pending, let expiry) = state {
            expiry?.cancel()
            pending.fail(LinkSecurityError(.closedInHandshake, "the link was closed during the TLS handshake"))
        }
        state = .closing
        context.close(mode: mode, promise: promise)
        // The reader is gone and reads no more, but the peer's close_notify is what ends the closing: fetch it.
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(
            refusal
                ?? LinkSecurityError(.closedInHandshake, "the other device closed the link during the TLS handshake"),
            context: context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        fail(
            LinkSecurityError(.closedInHandshake, "the link was closed during the TLS handshake"), context: context)
    }
}
