/// User name and password for a proxy; printing, interpolating or dumping it shows neither.
package struct ProxyCredentials: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Bytes of the name, at most 255.
    let user: [UInt8]
    /// Bytes of the password, at most 255.
    let password: [UInt8]

    /// Largest length of either, in bytes: RFC 1929 writes it in one byte.
    static let maximumByteCount = 255

    /// Nil when either is longer than 255 bytes, or the user name is empty.
    package init?(user: [UInt8], password: [UInt8]) {
        guard !user.isEmpty, user.count <= Self.maximumByteCount, password.count <= Self.maximumByteCount else {
            return nil
        }
        self.user = user
        self.password = password
    }

    package var description: String { "(hidden)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
