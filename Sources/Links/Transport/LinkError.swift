/// Why a link could not be made or listened for.
public struct LinkError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
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

    public var code: Code
    /// A sentence for people that names the address and says what to do.
    public var message: String
    /// Whether the same call may succeed later without anything being changed on this side.
    public var isTransient: Bool
    /// The error underneath, in the words of the system.
    public var cause: String?

    public init(_ code: Code, _ message: String, isTransient: Bool, cause: String? = nil) {
        self.code = code
        self.message = message
        self.isTransient = isTransient
        self.cause = cause
    }

    public var description: String { message }
}
