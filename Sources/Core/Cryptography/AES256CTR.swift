import COpenSSL

/// AES-256 in counter mode (SP 800-38A) over a stream of bytes, the counter from zero on.
///
/// It hides and does not protect: whoever can change bytes can change the text. A key may be used for one stream only.
public struct AES256CTR: ~Copyable {
    public static let keyByteCount = 32

    private let cipher: OwnedCipher

    /// Throws `invalidKey` for a key of another length.
    public init(key: [UInt8]) throws(CryptographyError) {
        guard key.count == Self.keyByteCount else {
            throw CryptographyError(.invalidKey, "AES-256-CTR needs a key of 32 bytes")
        }
        guard let cipher = OwnedCipher(),
            EVP_CipherInit_ex(cipher.pointer, EVP_aes_256_ctr(), nil, key, [UInt8](repeating: 0, count: 16), 1) == 1
        else { throw .libraryFailed("prepare AES-256-CTR") }
        self.cipher = cipher
    }

    /// Encrypts or decrypts, which are the same, the next bytes of the stream in their place.
    public mutating func apply(to bytes: UnsafeMutableRawBufferPointer) throws(CryptographyError) {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count > 0 else { return }
        var count: CInt = 0
        guard let length = CInt(exactly: bytes.count),
            EVP_CipherUpdate(cipher.pointer, start, &count, start, length) == 1, count == length
        else { throw .libraryFailed("encrypt with AES-256-CTR") }
    }
}
