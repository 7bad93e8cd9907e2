import Glibc
import Phrases

/// A small file that only its user may read and write, and which is not used if others may.
enum PrivateFile {
    /// Reads the file; nil if there is none.
    ///
    /// - Throws: `ConfigurationError` if it cannot be read, is larger than `byteLimit`, or others can read or write it; `objection` is
    ///   what is said then.
    static func read(
        _ path: String, byteLimit: Int, objection: Phrase
    ) throws(ConfigurationError) -> [UInt8]? {
        guard let bytes = try StoredFile.read(path, byteLimit: byteLimit) else { return nil }
        guard isPrivate(path) else { throw ConfigurationError(.invalidValue, objection, file: path) }
        return bytes
    }

    /// Replaces the file; durable on return. One that others can read is not written to but removed.
    ///
    /// - Throws: `ConfigurationError` if it cannot be written.
    static func write(_ bytes: [UInt8], to path: String) throws(ConfigurationError) {
        if !isPrivate(path) { unlink(path) }
        try StoredFile.write(bytes, to: path, mode: 0o600, isReplacing: true)
    }

    /// Whether it is a file, not a symbolic link, that this user alone can read and write.
    private static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
            && status.st_uid == geteuid()
    }
}
