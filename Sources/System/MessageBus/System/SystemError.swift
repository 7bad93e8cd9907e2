import Glibc

/// A system call that failed.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package var call: String
    package var code: CInt

    package init(_ call: String, _ code: CInt = errno) {
        self.call = call
        self.code = code
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}
