import Cryptography
import Glibc
import Phrases

/// What the page's password is checked with, in a file of its own that only its user can read and write. What is in it is the
/// server's; it does not have the password.
package enum PasswordFile {
    private static let byteLimit = 4096

    /// Whether there is one. It may be unusable.
    package static func isThere(in places: AgentPlaces) -> Bool { access(places.password, F_OK) == 0 }

    /// Reads the file; nil if there is none.
    ///
    /// - Throws: `ConfigurationError` if it cannot be read, is too large, or others can read or write it.
    package static func read(from places: AgentPlaces) throws(ConfigurationError) -> [UInt8]? {
        try PrivateFile.read(
            places.password, byteLimit: byteLimit,
            objection: Phrase(
                "others can read or write what the page's password is checked with; set the password again with "
                    + "`synctrain ui --set-password`"))
    }

    /// Replaces the file; durable on return.
    ///
    /// - Throws: `ConfigurationError` if it cannot be written.
    package static func write(_ bytes: [UInt8], to places: AgentPlaces) throws(ConfigurationError) {
        try PrivateFile.write(bytes, to: places.password)
    }
}

/// The page's own certificate and its key, in one file that only its user can read.
package enum PageCertificateFile {
    private static let byteLimit = 1 << 16

    /// Reads the certificate and the key, one PEM text with both; nil if there is no file.
    ///
    /// - Throws: `ConfigurationError` if it cannot be read, is too large, no text, or others can read it.
    package static func read(from places: AgentPlaces) throws(ConfigurationError) -> String? {
        let bytes = try PrivateFile.read(
            places.pageCertificate, byteLimit: byteLimit,
            objection: Phrase(
                "others can read the key of the page's certificate; delete the file and a new one is made"))
        return try bytes.map { (bytes) throws(ConfigurationError) in try text(bytes, places.pageCertificate) }
    }

    /// Makes a certificate and its key and stores them, durable on return.
    ///
    /// - Parameters:
    ///   - names, addresses: what the page is reached under.
    ///   - now: seconds since 1970.
    /// - Throws: `ConfigurationError` if it cannot be made or written.
    package static func create(
        in places: AgentPlaces, names: [String], addresses: [String], now: Int64
    ) throws(ConfigurationError) -> String {
        let made: (certificate: String, key: String)
        do throws(CryptographyError) {
            made = try PageCertificate.generate(names: names, addresses: addresses, notBefore: now)
        } catch {
            throw ConfigurationError(.failed, "\(error)", file: places.pageCertificate)
        }
        let text = made.certificate + made.key
        try PrivateFile.write(Array(text.utf8), to: places.pageCertificate)
        return text
    }

    /// A certificate or a key of the user's own.
    ///
    /// - Throws: `ConfigurationError` (`missing`, `noPermission`, `tooLarge`, `syntax`).
    package static func own(_ path: String) throws(ConfigurationError) -> String {
        guard let bytes = try StoredFile.read(path, byteLimit: byteLimit) else {
            throw ConfigurationError(
                .missing, "there is no such file; correct `certificate` and `certificate-key` in [http]", file: path)
        }
        return try text(bytes, path)
    }

    private static func text(_ bytes: [UInt8], _ path: String) throws(ConfigurationError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(.syntax, "not a PEM file", file: path)
        }
        return text
    }
}
