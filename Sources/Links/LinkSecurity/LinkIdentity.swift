import BlockExchange
import NIOSSL
import Phrases

/// The certificate and key by which this device is known.
package struct LinkIdentity: Sendable {
    /// The id that follows from the certificate.
    package let device: DeviceID
    let certificate: NIOSSLCertificate
    let key: NIOSSLPrivateKey

    /// Reads the device's certificate and its key: P-256, P-384, RSA or Ed25519, the key in any PEM form without a
    /// password. Throws `unusableIdentity`.
    package init(certificatePEM: String, keyPEM: String) throws(LinkSecurityError) {
        let certificates: [NIOSSLCertificate]
        do {
            certificates = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8))
        } catch {
            throw Self.unusable("the device's certificate is not a PEM certificate", error)
        }
        guard certificates.count == 1, let certificate = certificates.first else {
            throw LinkSecurityError(
                .unusableIdentity, "the certificate file holds \(certificates.count) certificates; it must hold one")
        }
        do {
            key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
            device = DeviceID(certificateDER: try certificate.toDERBytes())
        } catch {
            throw Self.unusable("the device's key is not an unencrypted PEM private key", error)
        }
        self.certificate = certificate
    }

    private static func unusable(_ what: Phrase, _ error: any Error) -> LinkSecurityError {
        LinkSecurityError(
            .unusableIdentity, "\(what); restore it from a backup, or create a new identity",
            cause: String(describing: error))
    }
}
