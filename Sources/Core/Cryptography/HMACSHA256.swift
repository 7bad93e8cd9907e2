import COpenSSL

/// HMAC with SHA-256 (RFC 2104, FIPS 198-1): proves that who made a message knew the key.
public enum HMACSHA256 {
    /// The code of `message`; `key` has at least one byte.
    ///
    /// Throws `libraryFailed` for an empty key, or if memory is out.
    public static func code(of message: [UInt8], key: [UInt8]) throws(CryptographyError) -> SHA256Digest {
        var output = [UInt8](repeating: 0, count: SHA256Digest.byteCount)
        var count = 0
        guard !key.isEmpty,
            EVP_Q_mac(
                nil, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count, &output, output.count, &count)
                != nil, count == output.count, let code = SHA256Digest(output)
        else { throw .libraryFailed("make a code with HMAC") }
        return code
    }

    /// Whether `code` is that of `message`; takes the same time wherever the two differ.
    public static func isCode(
        _ code: SHA256Digest, of message: [UInt8], key: [UInt8]
    ) throws(CryptographyError) -> Bool {
        let right = try Self.code(of: message, key: key)
        return right.withUnsafeBytes { right in
            code.withUnsafeBytes { CRYPTO_memcmp(right.baseAddress, $0.baseAddress, right.count) == 0 }
        }
    }
}
