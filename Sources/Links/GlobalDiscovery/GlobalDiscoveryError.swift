/// Why a discovery server cannot be used, or why its answer says nothing.
package struct GlobalDiscoveryError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The configured text is not a discovery server.
        case invalidServer
        /// The body is not what a discovery server sends.
        case invalidAnswer
    }

    package var code: Code
    /// A sentence for people, with what to do.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
