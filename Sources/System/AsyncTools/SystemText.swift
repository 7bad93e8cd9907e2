import Glibc

/// The system's words for the numbers of its errors.
package enum SystemText {
    /// "Connection reset by peer" for `ECONNRESET`, in the language of the C locale.
    package static func text(_ number: CInt) -> String { String(cString: strerror(number)) }
}
