import BlockExchange
import NIOCore
import NIOSSL
import Phrases

/// TLS towards services rather than devices: discovery servers, pools of relays, and relays in protocol mode.
///
/// TLS 1.2 or later. No session is ever resumed, so each connection verifies the server's certificate again.
package struct ServiceTLS: Sendable {
    /// What makes a server the right one.
    package enum Trust: Sendable, Equatable {
        /// A certificate for the host, issued by an authority in the system's trust store.
        case webPKI
        /// As `webPKI`, with these authorities, in PEM, instead of the system's.
        case authorities(pem: String)
        /// The SHA-256 of the server's own certificate; issuer, names and dates do not matter. Another server sees the
        /// handshake's first message only: neither this device's certificate nor a byte of the application.
        case pinned(DeviceID)
        /// Any certificate. Whoever can redirect the connection reads and forges what it carries.
        case unchecked
    }

    private let trust: Trust
    private let context: NIOSSLContext
    private let handshakeLimit: Duration
    /// The system names no authorities: then no server can be verified, and that is for each connection to say. A device without
    /// them can do all that needs no such server.
    private let lacksAuthorities: Bool

    /// - Parameters:
    ///   - identity: the certificate to show a server that asks for one; nil for none.
    ///   - applicationProtocols: the names to offer (ALPN), best first. Whether the server chose one is for the caller to
    ///     check.
    ///   - handshakeLimit: how long a handshake may take before the connection is closed.
    /// - Throws: `LinkSecurityError`: `unusableIdentity` when the key does not belong to the certificate,
    ///   `unusableCertificate` when the authorities cannot be read.
    package init(
        identity: LinkIdentity?, trust: Trust, applicationProtocols: [String] = [],
        handshakeLimit: Duration = .seconds(10)
    ) throws(LinkSecurityError) {
        try self.init(
            identity: identity, trust: trust, applicationProtocols: applicationProtocols,
            handshakeLimit: handshakeLimit, system: .default)
    }

    /// - Parameter system: the authorities of `webPKI`.
    init(
        identity: LinkIdentity?, trust: Trust, applicationProtocols: [String] = [], handshakeLimit: Duration,
        system: NIOSSLTrustRoots
    ) throws(LinkSecurityError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = applicationProtocols
        // How long closing waits for the server's own end before the connection is dropped.
        configuration.shutdownTimeout = .seconds(1)
        if let identity {
            configuration.certificateChain = [.certificate(identity.certificate)]
            configuration.privateKey = .privateKey(identity.key)
        }
        switch trust {
        case .webPKI:
            configuration.trustRoots = system
        case .authorities(let pem):
            do {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
            } catch {
                throw LinkSecurityError(
                    .unusableCertificate, "the authorities are not PEM certificates; correct the file",
                    cause: String(describing: error))
            }
        case .pinned, .unchecked:
            // The verification is our own: with a callback this asks nothing of the library's.
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates([])
            // Without this list BoringSSL turns Ed25519 away, the default of Syncthing 2.
            configuration.verifySignatureAlgorithms = [
                .ed25519, .ecdsaSecp256R1Sha256, .ecdsaSecp384R1Sha384, .ecdsaSecp521R1Sha512,
                .rsaPssRsaeSha256, .rsaPssRsaeSha384, .rsaPssRsaeSha512,
                .rsaPkcs1Sha256, .rsaPkcs1Sha384, .rsaPkcs1Sha512,
            ]
        }
        var made = Result { try NIOSSLContext(configuration: configuration) }
        var lacksAuthorities = false
        if case .failure = made, trust == .webPKI {
            configuration.trustRoots = .certificates([])
            made = Result { try NIOSSLContext(configuration: configuration) }
            lacksAuthorities = true
        }
        do {
            context = try made.get()
        } catch {
            throw LinkSecurityError(
                .unusableIdentity,
                "the device's certificate and key do not belong together; restore the identity from a backup",
                cause: String(describing: error))
        }
        self.lacksAuthorities = lacksAuthorities
        self.trust = trust
        self.handshakeLimit = handshakeLimit
    }

    /// Runs the handshake, as client, on a channel that has just connected: to be used in an installer of
    /// `StreamDialing`.
    ///
    /// What is written to the channel before the future completes waits, and leaves only when the server is the right
    /// one. Handlers of the application go in when the future succeeds, in a callback on the event loop (`flatMap`): they
    /// then see the first byte. What fails closes the channel.
    /// - Parameter host: the server's name, or its number without brackets: what the certificate must be for, and the
    ///   name indicated to the server (SNI; never a number).
    /// - Returns: fails with `LinkSecurityError`: `otherDevice` for a wrong pin, `unusableCertificate` for a certificate
    ///   that the authorities do not vouch for, `oldTLS`, `notTLS`, `refusedByPeer`, `otherProtocol`,
    ///   `closedInHandshake`, `handshakeTimeout`, `failed`.
    package func install(on channel: any Channel, host: String) -> EventLoopFuture<NegotiatedService> {
        guard channel.eventLoop.inEventLoop else {
            return channel.eventLoop.flatSubmit { install(on: channel, host: host) }
        }
        guard !lacksAuthorities else {
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(
                LinkSecurityError(
                    .unusableCertificate,
                    "this machine has no list of authorities to verify \(host) with; install the package ca-certificates"
                ))
        }
        let promise = channel.eventLoop.makePromise(of: NegotiatedService.self)
        let handshake = ServiceHandshakeHandler(
            trust: trust, host: host, limit: TimeAmount(handshakeLimit), promise: promise)
        do {
            let name = Self.serverName(host)
            let tls: NIOSSLClientHandler
            switch trust {
            case .webPKI, .authorities:
                // Without a name the library compares the certificate with the number that the channel is connected to.
                guard name != nil || Self.isNumber(host) else { throw NIOSSLExtraError.invalidSNIHostname }
                tls = try NIOSSLClientHandler(context: context, serverHostname: name)
            case .pinned, .unchecked:
                tls = try NIOSSLClientHandler(context: context, serverHostname: name) { certificates, verdict in
                    verdict.succeed(handshake.verify(certificates))
                }
            }
            let pipeline = channel.pipeline.syncOperations
            // The handshake starts as soon as the TLS handler is in, so the one that follows it goes in before.
            try pipeline.addHandler(handshake)
            handshake.certificate = { [weak tls] in tls?.peerCertificate }
            try pipeline.addHandler(tls, position: .before(handshake))
        } catch {
            // Completing twice is harmless: the handler may have been told of the channel's end already.
            promise.fail(LinkSecurityError(service: host, error))
            channel.close(promise: nil)
        }
        return promise.futureResult
    }

    /// The name to indicate and to verify; nil for a number and for what cannot be a name.
    private static func serverName(_ host: String) -> String? {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        guard !isNumber(name), (1...255).contains(name.utf8.count), !name.utf8.contains(0) else { return nil }
        return name
    }

    private static func isNumber(_ host: String) -> Bool {
        (try? SocketAddress(ipAddress: host, port: 0)) != nil || host.contains("%")
    }
}

/// What a handshake with a service agreed on.
package struct NegotiatedService: Sendable, Equatable {
    /// What both speak (ALPN); nil when the server chose nothing.
    package var applicationProtocol: String?
    /// The SHA-256 of the server's own certificate.
    package var certificate: DeviceID

    package init(applicationProtocol: String?, certificate: DeviceID) {
        self.applicationProtocol = applicationProtocol
        self.certificate = certificate
    }
}
