/// Why a link could not be made or listened for.
package struct LinkError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The text is no link address.
        case invalidAddress
        /// The address is well formed and of a kind that this transport does not serve.
        case unsupportedAddress
        case addressInUse
        case addressUnavailable
        case permissionDenied
        case hostNotFound
        case refused
        case unreachable
        case timedOut
        case failed
    }

    package var code: Code
    /// A sentence for people that names the address and says what to do.
    package var message: String
    /// Whether the same call may succeed later without anything being changed on this side.
    package var isTransient: Bool
    /// The error underneath, in the words of the system.
    package var cause: String?

    package init(_ code: Code, _ message: String, isTransient: Bool, cause: String? = nil) {
        self.code = code
        self.message = message
        self.isTransient = isTransient
        self.cause = cause
    }

    package var description: String { message }
}
