import FileAccess
import Phrases

/// Why a scan ended before it was through. What was delivered until then holds.
package struct ScanError: PhrasedError, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The folder's root was moved, removed or unmounted.
        case rootNotInPlace = "root-not-in-place"
        case rootUnreadable = "root-unreadable"
        /// The system gave no thread to read files with.
        case noThread = "no-thread"
    }

    package let code: Code
    /// The root's path.
    package let path: String
    package let cause: FileAccessError?

    init(_ code: Code, path: String, cause: FileAccessError? = nil) {
        self.code = code
        self.path = path
        self.cause = cause
    }

    /// A sentence for people that ends with what to do.
    package var text: Phrase {
        switch code {
        case .rootNotInPlace:
            Phrase("the folder's directory “\(path)” was moved, removed or unmounted; put it back or mount it again")
        case .rootUnreadable:
            cause?.text ?? Phrase("the folder's directory “\(path)” cannot be listed; check its permissions")
        case .noThread: Phrase("the system allows no more threads; raise the limit (ulimit -u, TasksMax=)")
        }
    }

    package var description: String { message }
}
