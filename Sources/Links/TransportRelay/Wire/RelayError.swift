import Phrases
import Transport

/// Why a relay could not be used, or why a connection to it ended.
package struct RelayError: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The text is no relay address, or its id is no device id.
        case invalidAddress
        /// What a pool answered is no list of relays, or a list without any that can be used.
        case invalidPool
        /// Bytes that are no message of relay protocol v1.
        case malformed
        /// A message that may not come at this point.
        case unexpectedMessage
        /// The relay wants a token, and got none or another.
        case wrongToken
        /// The relay still counts this device as joined.
        case alreadyConnected
        case full
        /// The device that was asked for is not joined there.
        case deviceNotJoined
        /// The session's key was used before, or is too old.
        case sessionExpired
        /// The relay did not join both ends of the session; another invitation helps.
        case sessionMissed
        /// The relay said no with a code that none of the others stands for.
        case refused
        /// The certificate is not that of the relay that the address names.
        case wrongRelay
        /// Whoever answers does not speak the relay protocol.
        case notRelay
        /// The relay offered a session with another device than the one asked for.
        case wrongDevice
        case closed
        /// Nothing came for two minutes.
        case silent
        case timedOut
        case unreachable
        case failed
    }

    package var code: Code
    /// A sentence for people, with what to do where there is something to do.
    package var text: Phrase
    /// The error underneath, in the words of the system or of the TLS library.
    package var cause: String?

    package init(_ code: Code, _ text: Phrase, cause: String? = nil) {
        self.code = code
        self.text = text
        self.cause = cause
    }

    package var description: String { message }

    /// Whether trying again later may help without anything being changed on this side.
    package var isTransient: Bool {
        switch code {
        case .wrongToken, .invalidAddress: false
        default: true
        }
    }
}

extension LinkError {
    /// Why a device was not reached through a relay.
    package init(_ error: RelayError) {
        let code: Code =
            switch error.code {
            case .invalidAddress: .invalidAddress
            case .timedOut, .silent: .timedOut
            case .deviceNotJoined, .unreachable: .unreachable
            case .wrongToken, .full, .refused, .sessionExpired, .sessionMissed, .alreadyConnected: .refused
            default: .failed
            }
        self.init(code, error.text, isTransient: error.isTransient, cause: error.cause)
    }
}
