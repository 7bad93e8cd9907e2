import BlockExchange
import Phrases

/// Why a link could not be secured, or why it ended other than by its plain end.
package struct LinkSecurityError: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// This device's own certificate or key cannot be used.
        case unusableIdentity
        /// The other end does not speak TLS.
        case notTLS
        /// The other end does not speak TLS 1.3.
        case oldTLS
        case noCertificate
        case severalCertificates
        case unusableCertificate
        /// The other end is this device itself.
        case ownDevice
        /// The other end is another device than the one that was meant.
        case otherDevice
        /// The link began other than one between devices that know each other.
        case notWelcome
        /// The other end insists on another application protocol.
        case otherProtocol
        /// The other end was asked to pair and does not wait for that.
        case notPairing
        /// The other end refused this device with an alert.
        case refusedByPeer
        /// The link ended before the handshake did.
        case closedInHandshake
        case handshakeTimeout
        case failed
    }

    package var code: Code
    /// A sentence for people, with what to do where there is something to do.
    package var text: Phrase
    /// The error underneath, in the words of the TLS library.
    package var cause: String?

    package init(_ code: Code, _ text: Phrase, cause: String? = nil) {
        self.code = code
        self.text = text
        self.cause = cause
    }

    package var description: String { message }

    static let notPairing = LinkSecurityError(
        .notPairing,
        "the other device is not waiting to be paired; run `synctrain pair` there, and then again here")

    /// Whether dialling again later may help without anything being changed on this side.
    package var isTransient: Bool {
        switch code {
        case .closedInHandshake, .handshakeTimeout, .refusedByPeer, .notWelcome, .failed: true
        case .unusableIdentity, .notTLS, .oldTLS, .noCertificate, .severalCertificates, .unusableCertificate,
            .ownDevice, .otherDevice, .otherProtocol, .notPairing:
            false
        }
    }
}
