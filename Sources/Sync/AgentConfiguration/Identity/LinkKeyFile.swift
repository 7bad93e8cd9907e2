import Cryptography
import Glibc
import Phrases

/// The secret that links to files are signed with, in a file of its own that only its user can read.
package enum LinkKeyFile {
    package static let byteCount = 32

    /// Reads the key; makes one if there is none, durable on return. Deleting the file ends all links that were made.
    ///
    /// Throws `invalidValue` if the file is no key or others can read it.
    package static func load(from places: AgentPlaces) throws(ConfigurationError) -> [UInt8] {
        if let key = try read(places.linkKey) { return key }
        do throws(ConfigurationError) {
            try StoredFile.write(
                SecureRandom.bytes(count: byteCount), to: places.linkKey, mode: 0o600, isReplacing: false)
        } catch {
            // Made by another between the two; whichever is there is the key.
            guard error.code == .alreadyExists else { throw error }
        }
        guard let key = try read(places.linkKey) else { throw StoredFile.failure(.read, places.linkKey) }
        return key
    }

    private static func read(_ path: String) throws(ConfigurationError) -> [UInt8]? {
        guard let bytes = try StoredFile.read(path, byteLimit: 4096) else { return nil }
        guard bytes.count == byteCount else {
            throw ConfigurationError(
                .invalidValue,
                Phrase(
                    "this is not the key that links are signed with; delete it and a new one is made, with which links made "
                        + "before end"), file: path)
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o077 == 0 else {
            throw ConfigurationError(
                .invalidValue,
                "others can read the key that links are signed with; delete it and a new one is made, or `chmod 600` it",
                file: path)
        }
        return bytes
    }
}
