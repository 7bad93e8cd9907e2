import Glibc
import Phrases

/// The certificate and the private key that make a device, as PEM texts.
package struct DeviceIdentityFiles: Equatable, Sendable {
    package let certificatePEM: String
    package let privateKeyPEM: String
    /// Sentences about what is not as it should be, such as a key that others can read.
    package let warnings: [String]

    static let byteLimit = 1 << 16

    /// Writes `key.pem` (0600) and `cert.pem` (0644), durable on return.
    ///
    /// Throws `alreadyExists` if either is there: a device's identity is never overwritten.
    package static func create(
        in places: AgentPlaces, certificatePEM: String, privateKeyPEM: String
    ) throws(ConfigurationError) {
        for path in [places.privateKey, places.certificate] where access(path, F_OK) == 0 {
            throw ConfigurationError(
                .alreadyExists, "this device already has an identity; to create another, choose another --home",
                file: path)
        }
        try StoredFile.write(Array(privateKeyPEM.utf8), to: places.privateKey, mode: 0o600, isReplacing: false)
        do throws(ConfigurationError) {
            try StoredFile.write(Array(certificatePEM.utf8), to: places.certificate, mode: 0o644, isReplacing: false)
        } catch {
            // The key alone is no identity and would stand in the way of the next attempt.
            unlink(places.privateKey)
            throw error
        }
    }

    /// Whether both files are there.
    ///
    /// - Throws: `missing` if one of them is and the other is not, as when a crash came between the two.
    package static func isWhole(in places: AgentPlaces) throws(ConfigurationError) -> Bool {
        switch (access(places.privateKey, F_OK) == 0, access(places.certificate, F_OK) == 0) {
        case (true, true): return true
        case (false, false): return false
        case (true, false): throw half(missing: places.certificate, there: places.privateKey)
        case (false, true): throw half(missing: places.privateKey, there: places.certificate)
        }
    }

    private static func half(missing: String, there: String) -> ConfigurationError {
        ConfigurationError(
            .missing,
            Phrase(
                "this half of the device's identity is missing; restore it from a backup, or, if no other device knows this one, "
                    + "delete \(there) and run `synctrain init`"), file: missing)
    }

    /// Whether anything of a device was ever made here: its certificate, its key or its configuration.
    ///
    /// - Throws: `noPermission` or `failed` where that cannot be seen, because a directory is closed to this user.
    package static func isThere(in places: AgentPlaces) throws(ConfigurationError) -> Bool {
        for path in [places.certificate, places.privateKey, places.configurationFile] {
            if access(path, F_OK) == 0 { return true }
            guard errno == ENOENT || errno == ENOTDIR else { throw StoredFile.failure(.lookFor, path) }
        }
        return false
    }

    /// Reads both files. Throws `missing` if either is not there, and says which if the other one is.
    package static func load(from places: AgentPlaces) throws(ConfigurationError) -> DeviceIdentityFiles {
        var warnings: [String] = []
        var status = stat()
        if stat(places.privateKey, &status) == 0, status.st_mode & 0o077 != 0 {
            warnings.append("\(places.privateKey): others can read the private key; run `chmod 600` on it")
        }
        _ = try isWhole(in: places)
        return DeviceIdentityFiles(
            certificatePEM: try text(places.certificate), privateKeyPEM: try text(places.privateKey),
            warnings: warnings)
    }

    private static func text(_ path: String) throws(ConfigurationError) -> String {
        guard let bytes = try StoredFile.read(path, byteLimit: byteLimit) else {
            throw ConfigurationError(
                .missing, "this device has no identity; create one with `synctrain init`", file: path)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(.syntax, "not a PEM file; restore it from a backup", file: path)
        }
        return text
    }
}
