import COpenSSL

/// AES-256 in Galois/Counter Mode (SP 800-38D) with nonces of 12 bytes and tags of 16.
///
/// A nonce may be used once only with a key: twice gives away both texts.
public enum AES256GCM {
    public static let keyByteCount = 32
    public static let nonceByteCount = 12
    public static let tagByteCount = 16

    /// The ciphertext of `plaintext`, and after it the tag, which also covers `authenticated`.
    ///
    /// Throws `invalidKey` for a key or nonce of another length.
    public static func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating authenticated: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        let cipher = try begin(key: key, nonce: nonce, encrypts: true)
        var output = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: tagByteCount)
        guard update(cipher, authenticated: authenticated), update(cipher, plaintext, into: &output), finish(cipher),
            EVP_CIPHER_CTX_ctrl(cipher.pointer, EVP_CTRL_AEAD_GET_TAG, CInt(tag.count), &tag) == 1
        else { throw .libraryFailed("encrypt") }
        return output + tag
    }

    /// The plaintext of `sealed`, which ends with the tag.
    ///
    /// Throws `notAuthentic` if the bytes, the nonce, the key or `authenticated` are not those of the sealing;
    /// `invalidKey` for a key or nonce of another length.
    public static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating authenticated: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        guard sealed.count >= tagByteCount else { throw notAuthentic }
        let cipher = try begin(key: key, nonce: nonce, encrypts: false)
        var tag = Array(sealed.suffix(tagByteCount))
        let ciphertext = Array(sealed.dropLast(tagByteCount))
        var output = [UInt8](repeating: 0, count: ciphertext.count)
        guard update(cipher, authenticated: authenticated), update(cipher, ciphertext, into: &output),
            EVP_CIPHER_CTX_ctrl(cipher.pointer, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1
        else { throw .libraryFailed("decrypt") }
        guard finish(cipher) else {
            _ = CryptographyError.drainErrors()
            throw notAuthentic
        }
        return output
    }

    private static let notAuthentic = CryptographyError(
        .notAuthentic, "the data was changed in transit or encrypted with another key; start the transfer again")

    private static func begin(key: [UInt8], nonce: [UInt8], encrypts: Bool) throws(CryptographyError) -> OwnedCipher {
        guard key.count == keyByteCount, nonce.count == nonceByteCount else {
            throw CryptographyError(
                .invalidKey, "AES-256-GCM needs a key of 32 bytes and a nonce of 12 bytes")
        }
        guard let cipher = OwnedCipher(),
            EVP_CipherInit_ex(cipher.pointer, EVP_aes_256_gcm(), nil, key, nonce, encrypts ? 1 : 0) == 1
        else { throw .libraryFailed("prepare AES-256-GCM") }
        return cipher
    }

    private static func update(_ cipher: borrowing OwnedCipher, authenticated: [UInt8]) -> Bool {
        guard !authenticated.isEmpty else { return true }
        var count: CInt = 0
        guard let length = CInt(exactly: authenticated.count) else { return false }
        return EVP_CipherUpdate(cipher.pointer, nil, &count, authenticated, length) == 1
    }

    private static func update(_ cipher: borrowing OwnedCipher, _ input: [UInt8], into output: inout [UInt8]) -> Bool {
        guard !input.isEmpty else { return true }
        var count: CInt = 0
        guard let length = CInt(exactly: input.count) else { return false }
        return EVP_CipherUpdate(cipher.pointer, &output, &count, input, length) == 1 && count == length
    }

    private static func finish(_ cipher: borrowing OwnedCipher) -> Bool {
        // GCM writes nothing more at the end; libcrypto wants a place all the same.
        var rest = [UInt8](repeating: 0, count: tagByteCount)
        var count: CInt = 0
        return EVP_CipherFinal_ex(cipher.pointer, &rest, &count) == 1
    }
}
