import Cryptography

/// A file that is being sent.
protocol DropSource: Sendable {
    /// As it is announced.
    var name: String { get }
    /// In bytes.
    var size: Int64 { get }

    /// Reads the whole file once. Throws `ControlError` if that fails or the file changes meanwhile.
    func digest() async throws -> SHA256Digest

    /// The bytes of a range that is within the file; fewer if it has become shorter. Throws `ControlError` with the cause for the
    /// user, other errors for the log.
    func read(_ range: Range<Int64>) async throws -> [UInt8]
}
