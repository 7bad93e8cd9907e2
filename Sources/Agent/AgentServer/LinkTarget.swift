import ControlAPI
import Cryptography

/// What a link to a file is about: the words that its signature covers.
struct LinkTarget: Equatable, Sendable {
    static let path = "/file"

    var folder: String
    /// Relative to the folder's root.
    var file: String
    /// In seconds since 1970.
    var expires: Int64

    init(folder: String, file: String, expires: Int64) {
        self.folder = folder
        self.file = file
        self.expires = expires
    }

    /// Path and query of a link with its signature.
    func signed(with key: [UInt8]) throws(ControlError) -> String {
        let signature: SHA256Digest
        do throws(CryptographyError) {
            signature = try HMACSHA256.code(of: message, key: key)
        } catch {
            throw ControlError(.failed, "The link cannot be signed: \(error)")
        }
        let query = RequestQuery([
            ("folder", folder), ("path", file), ("expires", String(expires)), ("signature", signature.description),
        ])
        return Self.path + "?" + query.encoded
    }

    /// Reads a request's target. Throws `invalidRequest` for what is no link, `noPermission` for one that was not signed
    /// with `key`, and `gone` for one that has expired at `now`.
    init(target: String, key: [UInt8], now: Int64) throws(ControlError) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = try RequestQuery(encoded: parts.count > 1 ? String(parts[1]) : "")
        guard let folder = query["folder"], let file = query["path"], !file.isEmpty,
            let expires = query["expires"].flatMap({ Int64($0) }),
            let signature = query["signature"].flatMap({ SHA256Digest(hex: $0) })
        else {
            throw ControlError(
                .invalidRequest, "The link is incomplete. Copy all of the link that `synctrain url` printed.")
        }
        self.init(folder: folder, file: file, expires: expires)
        let isSigned: Bool
        do throws(CryptographyError) {
            isSigned = try HMACSHA256.isCode(signature, of: message, key: key)
        } catch {
            throw ControlError(.failed, "The link cannot be checked: \(error)")
        }
        guard isSigned else {
            throw ControlError(
                .noPermission,
                "This device did not create this link. Copy all of the link that `synctrain url` "
                    + "printed.",
                path: file)
        }
        guard now < expires else {
            throw ControlError(.gone, "This link has expired. Create a new one with `synctrain url`.", path: file)
        }
    }

    /// Each text with its length before it: no two targets have the same bytes.
    private var message: [UInt8] {
        var message = Array("synctrain-link/1".utf8)
        for text in [folder, file, String(expires)] {
            message += Array("\(text.utf8.count):".utf8) + Array(text.utf8)
        }
        return message
    }
}
