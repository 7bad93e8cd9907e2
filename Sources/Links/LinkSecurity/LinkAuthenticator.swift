import BlockExchange
import NIOCore
import NIOSSL
import NIOTLS
import Transport

/// Secures links: TLS 1.3 with one certificate each way, as Syncthing does it.
///
/// Who the peer is follows from the hash of its certificate alone; there are no checks of issuer, dates, names or key
/// usage. Whether that device is welcome is for the caller to decide.
package struct LinkAuthenticator: Sendable {
    /// BEP's name in the TLS handshake.
    package static let blockExchangeProtocol = "bep/1.0"
    /// The name of pairing by a code; offered and accepted only while the user has asked for it.
    package static let pairingProtocol = "synctrain-pair/1"

    /// The name of redeeming an invitation; accepted only while there is one.
    package static let invitationProtocol = "synctrain-invite/1"

    private let device: DeviceID
    private let applicationProtocols: [String]
    private let context: NIOSSLContext
    private let handshakeLimit: Duration

    /// - Parameters:
    ///   - applicationProtocols: what to offer as the dialling side, and to choose from as the other, best first. A peer
    ///     that names none is taken for BEP if that is among them, and refused otherwise.
    ///   - isHidden: the handshake passes under keys of the preamble, which no later computer breaks: then it can do
    ///     without the 2 KB that make the key exchange itself so.
    ///   - handshakeLimit: how long a handshake may take before the link is closed.
    /// - Throws: `unusableIdentity` when the key does not belong to the certificate.
    package init(
        identity: LinkIdentity, applicationProtocols: [String] = [blockExchangeProtocol], isHidden: Bool = false,
        handshakeLimit: Duration = .seconds(10)
    ) throws(LinkSecurityError) {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(identity.certificate)], privateKey: .privateKey(identity.key))
        // One context serves both roles. On the server side this setting is what asks for a certificate; the
        // verification is our own on both sides.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = applicationProtocols
        // Without this list BoringSSL turns Ed25519 away, the default of Syncthing 2.
        configuration.verifySignatureAlgorithms = [
            .ed25519, .ecdsaSecp256R1Sha256, .ecdsaSecp384R1Sha384, .ecdsaSecp521R1Sha512,
            .rsaPssRsaeSha256, .rsaPssRsaeSha384, .rsaPssRsaeSha512,
        ]
        if isHidden { configuration.curves = [.x25519, .secp256r1, .secp384r1] }
        // How long closing waits for the peer's own end before the connection is dropped.
        configuration.shutdownTimeout = .seconds(1)
        do {
            context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw LinkSecurityError(
                .unusableIdentity,
                "the device's certificate and key do not belong together; restore both from a backup",
                cause: String(describing: error))
        }
        device = identity.device
        self.applicationProtocols = applicationProtocols
        self.handshakeLimit = handshakeLimit
    }

    /// Runs the handshake on a link that has just connected, as client if this side dialled: an installer for
    /// `LinkTransport`.
    ///
    /// The future fails with `LinkSecurityError` and the channel is closed when the peer is no device, is this device
    /// itself, speaks no TLS 1.3, insists on another application protocol, or takes longer than the limit. A peer that is
    /// dialled to pair and does not wait for that fails with `notPairing`.
    package func install(
        _ channel: any Channel, _ information: LinkInformation
    ) -> EventLoopFuture<SecureLink> {
        install(channel, information, expecting: nil)
    }

    /// The same, for one device alone: any other fails with `otherDevice`.
    func install(
        _ channel: any Channel, _ information: LinkInformation, expecting expected: DeviceID?
    ) -> EventLoopFuture<SecureLink> {
        guard channel.eventLoop.inEventLoop else {
            return channel.eventLoop.flatSubmit { install(channel, information, expecting: expected) }
        }
        let promise = channel.eventLoop.makePromise(of: SecureLink.self)
        let observer = information.isInitiator ? nil : ClientHelloObserver()
        let handshake = HandshakeHandler(
            own: device, expected: expected, information: information, applicationProtocols: applicationProtocols,
            clientHello: observer,
            limit: TimeAmount(handshakeLimit), promise: promise)
        let verify: NIOSSLCustomVerificationCallback = { certificates, verdict in
            verdict.succeed(handshake.verify(certificates))
        }
        var configuration = NIOSSLHandler.Configuration()
        // Blocks of 16 MiB come and go; their ciphertext buffer need not stay for the life of the link.
        configuration.maximumPreservedOutboundBufferCapacity = 256 * 1024
        do {
            let pipeline = channel.pipeline.syncOperations
            // The handshake starts as soon as the TLS handler is in, so the one that follows it goes in before.
            try pipeline.addHandler(handshake)
            if let observer { try pipeline.addHandler(observer, position: .before(handshake)) }
            if information.isInitiator {
                let tls = try NIOSSLClientHandler(
                    context: context, serverHostname: nil, customVerificationCallback: verify,
                    configuration: configuration)
                try pipeline.addHandler(tls, position: .before(handshake))
            } else {
                let tls = NIOSSLServerHandler(
                    context: context, customVerificationCallback: verify, configuration: configuration)
                try pipeline.addHandler(tls, position: .before(handshake))
            }
        } catch {
            // Completing twice is harmless: the handler may have been told of the channel's end already.
            promise.fail(LinkSecurityError(tls: error))
            channel.close(promise: nil)
        }
        return promise.futureResult
    }
}
