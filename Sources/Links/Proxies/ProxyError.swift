import Phrases

/// Why a connection through a proxy could not be made, or why the settings of a proxy cannot be used.
///
/// No message has a user name or a password in it.
package struct ProxyError: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The text that names the proxy, or the list of exceptions, cannot be used.
        case invalidSettings
        /// The host or port to connect to cannot be said to this kind of proxy.
        case invalidTarget
        /// The name of the proxy's host cannot be resolved.
        case proxyNotFound
        /// Nothing listens at the proxy's address.
        case noProxyListening
        /// The proxy's host cannot be reached.
        case proxyUnreachable
        case timedOut
        /// The proxy wants a user name and a password, and none is set.
        case passwordRequired
        /// The proxy did not accept the user name and the password.
        case wrongPassword
        /// The proxy's rules forbid this connection.
        case refusedByProxy
        /// The proxy cannot reach the target, or cannot resolve its name.
        case targetUnreachable
        /// Nothing listens at the target.
        case targetRefused
        /// The proxy closed the connection before it had answered.
        case closedByProxy
        /// What answers is not a proxy of the kind that is set.
        case notAProxy
        case failed
    }

    package var code: Code
    /// A sentence for people with the cause and what to do.
    package var text: Phrase
    /// The error underneath, in the words of the system.
    package var cause: String?

    package init(_ code: Code, _ text: Phrase, cause: String? = nil) {
        self.code = code
        self.text = text
        self.cause = cause
    }

    package var description: String { message }

    /// Whether the same call may succeed later without a change of the settings.
    package var isTransient: Bool {
        switch code {
        case .proxyNotFound, .noProxyListening, .proxyUnreachable, .timedOut, .targetUnreachable, .targetRefused,
            .closedByProxy, .failed:
            true
        case .invalidSettings, .invalidTarget, .passwordRequired, .wrongPassword, .refusedByProxy, .notAProxy: false
        }
    }
}
