import Cryptography
import NIOCore
import NIOSSL

/// TLS of a server that anybody may connect to: the page. TLS 1.2 or later; no client shows a certificate.
package struct ServerTLS: Sendable {
    /// The SHA-256 of the certificate, which browsers show of a page.
    package let fingerprint: SHA256Digest
    /// When the certificate is over, in seconds since 1970.
    package let expires: Int64
    private let context: NIOSSLContext

    /// - Parameters:
    ///   - certificatePEM: the server's certificate first, then those of its issuers.
    ///   - keyPEM: its key, without a password.
    /// - Throws: `LinkSecurityError` (`unusableIdentity`) for what is no certificate, no key, or not the one's key.
    package init(certificatePEM: String, keyPEM: String) throws(LinkSecurityError) {
        do {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8))
            guard let certificate = chain.first else {
                throw LinkSecurityError(.unusableIdentity, "there is no certificate in the file")
            }
            let key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = ["http/1.1"]
            // How long closing waits for the browser's own end.
            configuration.shutdownTimeout = .seconds(1)
            context = try NIOSSLContext(configuration: configuration)
            fingerprint = SHA256.digest(try certificate.toDERBytes())
            expires = Int64(certificate.notValidAfter)
        } catch let error as LinkSecurityError {
            throw error
        } catch {
            throw LinkSecurityError(
                .unusableIdentity,
                "the certificate and the key are not PEM texts that belong together, the key without a password",
                cause: String(describing: error))
        }
    }

    /// Adds TLS to a channel, behind a handler that is in its pipeline. On the channel's event loop.
    ///
    /// - Throws: what the pipeline throws.
    package func add(to pipeline: ChannelPipeline.SynchronousOperations, after handler: any ChannelHandler) throws {
        try pipeline.addHandler(NIOSSLServerHandler(context: context), position: .after(handler))
    }
}
