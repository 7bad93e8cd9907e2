import COpenSSL

/// Why a key or certificate could not be made or read.
public struct CryptographyError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable, CaseIterable {
        case certificateUnreadable = "certificate-unreadable"
        case severalCertificates = "several-certificates"
        case privateKeyUnreadable = "private-key-unreadable"
        case privateKeyEncrypted = "private-key-encrypted"
        case unsupportedKey = "unsupported-key"
        case keyDoesNotMatch = "key-does-not-match"
        case invalidDate = "invalid-date"
        /// Bytes that are no key of the kind, or no point of its curve.
        case invalidKey = "invalid-key"
        /// Sealed bytes that were changed, or sealed with another key or nonce.
        case notAuthentic = "not-authentic"
        case libraryFailed = "library-failed"
    }

    public let code: Code
    /// A sentence for people that ends with what to do; never holds key material.
    public let message: String
    /// What libcrypto said, for the log; nil if it was not libcrypto that objected.
    public let cause: String?

    init(_ code: Code, _ message: String, cause: String? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }

    /// libcrypto refused something that needs only memory and randomness.
    static func libraryFailed(_ step: String) -> Self {
        Self(
            .libraryFailed,
            "libcrypto could not \(step); check the OpenSSL 3 installation and the free memory, then try again",
            cause: drainErrors())
    }

    /// Empties this thread's queue of libcrypto errors, so that a later call does not report an old one; gives the
    /// first.
    static func drainErrors() -> String? {
        var first: String?
        while true {
            let number = ERR_get_error()
            guard number != 0 else { return first }
            if first == nil {
                first = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
                    guard let base = buffer.baseAddress else { return nil }
                    ERR_error_string_n(number, base, buffer.count)
                    return String(cString: base)
                }
            }
        }
    }
}
