import BlockExchange
import Cryptography
import LinkSecurity

/// A device made for tests.
struct TestDevice: Sendable {
    let identity: LinkIdentity
    var id: DeviceID { identity.device }

    init() throws {
        let certificate = try DeviceCertificate.generate(curve: .p256, notBefore: 1_790_000_000)
        identity = try LinkIdentity(certificatePEM: certificate.certificatePEM, keyPEM: certificate.privateKeyPEM)
    }
}
