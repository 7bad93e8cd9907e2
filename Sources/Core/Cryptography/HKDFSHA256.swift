import COpenSSL

/// HKDF with SHA-256 (RFC 5869).
public enum HKDFSHA256 {
    /// What one derivation can give at most.
    public static let greatestByteCount = 255 * SHA256Digest.byteCount

    /// Derives `byteCount` bytes, 1 to `greatestByteCount`, from a secret.
    ///
    /// Throws `libraryFailed` for another count, or if memory is out.
    public static func derive(
        from secret: [UInt8], salt: [UInt8], info: [UInt8], byteCount: Int
    ) throws(CryptographyError) -> [UInt8] {
        guard (1...greatestByteCount).contains(byteCount), let secretCount = CInt(exactly: secret.count),
            let saltCount = CInt(exactly: salt.count), let infoCount = CInt(exactly: info.count),
            let context = OwnedKeyContext(algorithm: "HKDF"), EVP_PKEY_derive_init(context.pointer) == 1,
            EVP_PKEY_CTX_set_hkdf_md(context.pointer, EVP_sha256()) == 1,
            EVP_PKEY_CTX_set1_hkdf_salt(context.pointer, salt, saltCount) == 1,
            EVP_PKEY_CTX_set1_hkdf_key(context.pointer, secret, secretCount) == 1,
            EVP_PKEY_CTX_add1_hkdf_info(context.pointer, info, infoCount) == 1
        else { throw .libraryFailed("prepare a derivation of \(byteCount) bytes with HKDF") }
        var output = [UInt8](repeating: 0, count: byteCount)
        var count = byteCount
        guard EVP_PKEY_derive(context.pointer, &output, &count) == 1, count == byteCount else {
            throw .libraryFailed("derive \(byteCount) bytes with HKDF")
        }
        return output
    }
}
