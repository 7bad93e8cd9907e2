import LinkSecurity
import Transport

/// Why a request got no answer that can be used.
package struct HTTPExchangeError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The URL or a header cannot be sent.
        case invalidRequest
        /// No connection: the name, the network, the port.
        case unreachable
        /// TLS failed, or the server is not the one that it should be.
        case notTrusted
        case timedOut
        /// The answer's headers or body exceed the limits given.
        case tooLarge
        /// The answer is not HTTP/1.
        case malformed
        /// The connection ended before the answer did.
        case closedEarly
        /// The server refers to another URL; nobody follows it.
        case redirected
        case failed
    }

    package var code: Code
    /// A sentence for people that names the server and says what to do.
    package var message: String
    /// Whether the same request may succeed later without anything being changed on this side.
    package var isTransient: Bool
    /// The error underneath, in the words of the system or of a library.
    package var cause: String?

    package init(_ code: Code, _ message: String, isTransient: Bool, cause: String? = nil) {
        self.code = code
        self.message = message
        self.isTransient = isTransient
        self.cause = cause
    }

    package var description: String { message }

    /// What an error of the layers underneath means for a request to `url`.
    init(_ error: any Error, url: HTTPURL) {
        switch error {
        case let error as HTTPExchangeError:
            self = error
        case let error as LinkError where error.code == .timedOut:
            self.init(.timedOut, error.message, isTransient: true, cause: error.cause)
        case let error as LinkError:
            self.init(.unreachable, error.message, isTransient: error.isTransient, cause: error.cause)
        case let error as LinkSecurityError:
            self.init(.notTrusted, error.message, isTransient: error.isTransient, cause: error.cause)
        default:
            self.init(
                .failed, "the request to \(url.host) failed: \(error); try again later", isTransient: true,
                cause: String(describing: error))
        }
    }
}
