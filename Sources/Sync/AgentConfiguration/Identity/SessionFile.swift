import Glibc

/// Which browsers are logged in, in a file of its own that only its user can read and write. What is in it is the
/// server's.
package enum SessionFile {
    /// Some hundred bytes for each of a few dozen browsers.
    private static let byteLimit = 1 << 16

    /// Reads the file; nil if there is none.
    ///
    /// - Throws: `ConfigurationError` if it cannot be read, is too large, or others can read or write it: who could write it
    ///   could log in.
    package static func read(from places: AgentPlaces) throws(ConfigurationError) -> [UInt8]? {
        guard let bytes = try StoredFile.read(places.sessions, byteLimit: byteLimit) else { return nil }
        guard isPrivate(places.sessions) else {
            throw ConfigurationError(
                .invalidValue, "others can read or write who is logged in to the page", file: places.sessions)
        }
        return bytes
    }

    /// Replaces the file; durable on return. One that others can read is not written to but removed.
    ///
    /// - Throws: `ConfigurationError` if it cannot be written.
    package static func write(_ bytes: [UInt8], to places: AgentPlaces) throws(ConfigurationError) {
        if !isPrivate(places.sessions) { unlink(places.sessions) }
        try StoredFile.write(bytes, to: places.sessions, mode: 0o600, isReplacing: true)
    }

    /// Whether it is a file, not a symbolic link, that this user alone can read and write.
    private static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0
            && status.st_uid == geteuid()
    }
}
