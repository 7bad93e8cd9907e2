import COpenSSL

/// SHA-256 (FIPS 180-4) by OpenSSL's libcrypto.
public enum SHA256 {
    /// The digest of `bytes`.
    public static func digest(_ bytes: UnsafeRawBufferPointer) -> SHA256Digest {
        withUnsafeTemporaryAllocation(byteCount: SHA256Digest.byteCount, alignment: 8) { output in
            synctrain_sha256(bytes.baseAddress, bytes.count, output.baseAddress)
            guard let digest = SHA256Digest(UnsafeRawBufferPointer(output)) else {
                fatalError("a SHA-256 digest has 32 bytes")
            }
            return digest
        }
    }

    /// The digest of `bytes`.
    public static func digest(_ bytes: some Sequence<UInt8>) -> SHA256Digest {
        if let digest = bytes.withContiguousStorageIfAvailable({ digest(UnsafeRawBufferPointer($0)) }) { return digest }
        return Array(bytes).withUnsafeBytes { digest($0) }
    }
}

/// A SHA-256 computation over data that comes in pieces.
public struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer

    public init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            // Reached only when libcrypto cannot allocate a few hundred bytes.
            fatalError("libcrypto gave no SHA-256 context")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds `bytes` to what is hashed.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        EVP_DigestUpdate(context, base, bytes.count)
    }

    /// The digest of all that was added.
    public consuming func finalize() -> SHA256Digest {
        withUnsafeTemporaryAllocation(byteCount: SHA256Digest.byteCount, alignment: 8) { output in
            EVP_DigestFinal_ex(context, output.bindMemory(to: UInt8.self).baseAddress, nil)
            guard let digest = SHA256Digest(UnsafeRawBufferPointer(output)) else {
                fatalError("a SHA-256 digest has 32 bytes")
            }
            return digest
        }
    }
}
