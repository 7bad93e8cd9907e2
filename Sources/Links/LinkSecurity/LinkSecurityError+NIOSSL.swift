import NIOSSL
import Phrases

extension LinkSecurityError {
    /// What an error of the TLS library means. BoringSSL's reasons can only be told apart by their names.
    init(tls error: any Error) {
        let cause = String(describing: error)
        if cause.contains("EOF during handshake") {
            self.init(
                .closedInHandshake, "the other device closed the link during the TLS handshake", cause: cause)
        } else if Self.contains(cause, ["UNSUPPORTED_PROTOCOL", "ALERT_PROTOCOL_VERSION"]) {
            self.init(
                .oldTLS, "the other device does not offer TLS 1.3; update its Syncthing to 1.3 or later", cause: cause)
        } else if Self.contains(cause, ["PEER_DID_NOT_RETURN_A_CERTIFICATE"]) {
            self.init(
                .noCertificate,
                "the other end presented no certificate; check that the port belongs to a "
                    + "device", cause: cause)
        } else if Self.contains(cause, ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST"]) {
            self.init(
                .notTLS, "the other end does not speak TLS; check that the port belongs to a device", cause: cause)
        } else if Self.contains(cause, ["NO_APPLICATION_PROTOCOL", "INVALID_ALPN_PROTOCOL"]) {
            self.init(.otherProtocol, "the other end speaks another protocol than BEP", cause: cause)
        } else if cause.contains("_ALERT_") {
            self.init(
                .refusedByPeer,
                "the other device refused the TLS handshake; check that this device is added there",
                cause: cause)
        } else {
            self.init(.failed, "TLS failed: \(cause)", cause: cause)
        }
    }

    private static func contains(_ text: String, _ names: [String]) -> Bool { names.contains { text.contains($0) } }
}
