import ControlAPI
import Cryptography

/// What a password is checked with: salt, parameters and digest of scrypt. Pure.
struct StoredPassword: Equatable, Sendable {
    static let saltByteCount = 16

    let salt: [UInt8]
    let parameters: Scrypt.Parameters
    let digest: SHA256Digest

    private struct Document: Codable {
        var schema = 1
        var kdf = "scrypt"
        var n: UInt64
        var r: UInt64
        var p: UInt64
        var salt: String
        var digest: String
    }

    /// Takes some tenths of a second: not on an event loop.
    ///
    /// - Throws: `CryptographyError` if memory is out.
    init(
        password: String, salt: [UInt8], parameters: Scrypt.Parameters = .usual
    ) throws(CryptographyError) {
        (self.salt, self.parameters) = (salt, parameters)
        digest = try Scrypt.digest(of: Array(password.utf8), salt: salt, parameters)
    }

    /// Nil for anything but such a document with parameters that can be used.
    init?(json: [UInt8]) {
        guard let document = try? ControlJSON.decode(Document.self, from: json), document.schema == 1,
            document.kdf == "scrypt", let digest = SHA256Digest(hex: document.digest),
            let salt = Self.bytes(hex: document.salt), (8...64).contains(salt.count)
        else { return nil }
        let parameters = Scrypt.Parameters(cost: document.n, blockSize: document.r, parallelism: document.p)
        guard parameters.isSound else { return nil }
        (self.salt, self.parameters, self.digest) = (salt, parameters, digest)
    }

    /// - Throws: `ControlError` `failed`, which would be a bug.
    func json() throws(ControlError) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        let salt = String(decoding: salt.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
        return try ControlJSON.encode(
            Document(
                n: parameters.cost, r: parameters.blockSize, p: parameters.parallelism, salt: salt,
                digest: digest.description))
    }

    /// Whether it is the password. Takes some tenths of a second, as long for a wrong one as for the right one.
    ///
    /// - Throws: `CryptographyError` if memory is out.
    func isRight(_ password: String) throws(CryptographyError) -> Bool {
        try Scrypt.digest(of: Array(password.utf8), salt: salt, parameters).isSame(as: digest)
    }

    private static func bytes(hex: String) -> [UInt8]? {
        let digits = Array(hex.utf8)
        guard digits.count % 2 == 0, digits.count <= 128 else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[start..<start + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
