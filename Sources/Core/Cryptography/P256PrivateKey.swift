import COpenSSL

/// A key on the curve P-256 for agreeing on a secret with the owner of another (ECDH, SP 800-56A), and then forgetting.
///
/// Holds the private number in memory of its own; nothing of it appears in a description.
public struct P256PrivateKey: Sendable {
    public static let publicKeyByteCount = 65
    public static let scalarByteCount = 32

    private let scalar: [UInt8]
    /// The public key in ANSI X9.63 form: `04`, then both coordinates.
    public let publicKey: [UInt8]

    /// Makes a new key; throws `libraryFailed` if memory or randomness is out.
    public init() throws(CryptographyError) {
        guard let context = OwnedKeyContext(algorithm: "EC") else { throw .libraryFailed("find elliptic curves") }
        var pointer: OpaquePointer?
        guard EVP_PKEY_keygen_init(context.pointer) == 1,
            EVP_PKEY_CTX_set_group_name(context.pointer, "P-256") == 1,
            EVP_PKEY_generate(context.pointer, &pointer) == 1,
            let key = OwnedKey(taking: pointer)
        else { throw .libraryFailed("make a key on P-256") }
        var number: OpaquePointer?
        defer { BN_clear_free(number) }
        var scalar = [UInt8](repeating: 0, count: Self.scalarByteCount)
        guard EVP_PKEY_get_bn_param(key.pointer, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1,
            BN_bn2binpad(number, &scalar, CInt(scalar.count)) == CInt(scalar.count)
        else { throw .libraryFailed("read a key on P-256") }
        self.scalar = scalar
        publicKey = try Self.publicKey(of: key)
    }

    /// Takes the private number as 32 big-endian bytes; throws `invalidKey` if it is no key on the curve.
    public init(scalar: [UInt8]) throws(CryptographyError) {
        self.scalar = scalar
        let key = try Self.key(scalar)
        // Reading the key does not look whether the number is one of the curve's.
        guard let context = OwnedKeyContext(using: key), EVP_PKEY_private_check(context.pointer) == 1 else {
            throw CryptographyError(.invalidKey, Self.notAKey, cause: CryptographyError.drainErrors())
        }
        publicKey = try Self.publicKey(of: key)
    }

    /// The x-coordinate of the point that both owners can compute: 32 bytes, to be put through a derivation.
    ///
    /// Throws `invalidKey` if `peer` is no point of the curve in X9.63 form.
    public func sharedSecret(with peer: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let peer = try Self.key(publicKey: peer)
        guard let context = OwnedKeyContext(using: try Self.key(scalar)) else {
            throw .libraryFailed("prepare a key agreement")
        }
        var secret = [UInt8](repeating: 0, count: Self.scalarByteCount)
        var count = secret.count
        guard EVP_PKEY_derive_init(context.pointer) == 1, EVP_PKEY_derive_set_peer(context.pointer, peer.pointer) == 1,
            EVP_PKEY_derive(context.pointer, &secret, &count) == 1, count == secret.count
        else { throw .libraryFailed("agree on a secret") }
        return secret
    }

    private static let notAKey = "not a key on the curve P-256; the other side must send a new one"

    /// An ECPrivateKey (RFC 5915) without the public key, which libcrypto works out.
    private static func key(_ scalar: [UInt8]) throws(CryptographyError) -> OwnedKey {
        guard scalar.count == scalarByteCount else { throw CryptographyError(.invalidKey, notAKey) }
        let prefix: [UInt8] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20]
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let der = prefix + scalar + curve
        let pointer = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_PrivateKey(EVP_PKEY_EC, nil, &start, bytes.count)
        }
        guard let key = OwnedKey(taking: pointer) else {
            throw CryptographyError(.invalidKey, notAKey, cause: CryptographyError.drainErrors())
        }
        return key
    }

    /// A SubjectPublicKeyInfo (RFC 5480); libcrypto checks that the point is one of the curve.
    private static func key(publicKey: [UInt8]) throws(CryptographyError) -> OwnedKey {
        guard publicKey.count == publicKeyByteCount, publicKey.first == 0x04 else {
            throw CryptographyError(.invalidKey, notAKey)
        }
        let prefix: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let der = prefix + publicKey
        let pointer = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, bytes.count)
        }
        guard let key = OwnedKey(taking: pointer) else {
            throw CryptographyError(.invalidKey, notAKey, cause: CryptographyError.drainErrors())
        }
        return key
    }

    private static func publicKey(of key: borrowing OwnedKey) throws(CryptographyError) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = EVP_PKEY_get1_encoded_public_key(key.pointer, &bytes)
        defer { CRYPTO_free(bytes, #fileID, #line) }
        guard count == publicKeyByteCount, let bytes else { throw .libraryFailed("read a key on P-256") }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}

extension P256PrivateKey: CustomStringConvertible, CustomReflectable {
    public var description: String { "P256PrivateKey(\(SHA256.digest(publicKey)))" }

    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
