import Phrases

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
        try PrivateFile.read(
            places.sessions, byteLimit: byteLimit,
            objection: Phrase("others can read or write who is logged in to the page"))
    }

    /// Replaces the file; durable on return. One that others can read is not written to but removed.
    ///
    /// - Throws: `ConfigurationError` if it cannot be written.
    package static func write(_ bytes: [UInt8], to places: AgentPlaces) throws(ConfigurationError) {
        try PrivateFile.write(bytes, to: places.sessions)
    }
}
