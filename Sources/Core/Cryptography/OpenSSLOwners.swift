import COpenSSL

// libcrypto's objects as values with one owner each: what is allocated is freed when the owner goes out of scope, on
// every way out.

/// A key pair or public key (`EVP_PKEY`).
struct OwnedKey: ~Copyable {
    let pointer: OpaquePointer

    init?(taking pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    deinit { EVP_PKEY_free(pointer) }
}

/// A certificate (`X509`).
struct OwnedCertificate: ~Copyable {
    let pointer: OpaquePointer

    init?(taking pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    deinit { X509_free(pointer) }
}

/// One key generation or operation with a key (`EVP_PKEY_CTX`).
struct OwnedKeyContext: ~Copyable {
    let pointer: OpaquePointer

    init?(algorithm: String) {
        guard let pointer = EVP_PKEY_CTX_new_from_name(nil, algorithm, nil) else { return nil }
        self.pointer = pointer
    }

    /// For an operation with `key`.
    init?(using key: borrowing OwnedKey) {
        guard let pointer = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { return nil }
        self.pointer = pointer
    }

    deinit { EVP_PKEY_CTX_free(pointer) }
}

/// A growing buffer that libcrypto reads and writes (`BIO`); wiped when freed, so keys may pass through it.
struct OwnedBuffer: ~Copyable {
    let pointer: OpaquePointer

    init?() {
        guard let pointer = BIO_new(BIO_s_mem()) else { return nil }
        self.pointer = pointer
    }

    /// Adds `text`; false if memory is out or the text is longer than a C int can say.
    func append(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard !bytes.isEmpty else { return true }
            guard let count = CInt(exactly: bytes.count) else { return false }
            return BIO_write(pointer, bytes.baseAddress, count) == count
        }
    }

    deinit { BIO_free(pointer) }

    /// Takes out all that the buffer holds.
    func drain() -> [UInt8] {
        var bytes: [UInt8] = []
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { chunk in
            while true {
                let count = BIO_read(pointer, chunk.baseAddress, CInt(chunk.count))
                guard count > 0 else { return }
                bytes.append(contentsOf: chunk.prefix(Int(count)))
            }
        }
        return bytes
    }
}

/// One encryption or decryption (`EVP_CIPHER_CTX`).
struct OwnedCipher: ~Copyable {
    let pointer: OpaquePointer

    init?() {
        guard let pointer = EVP_CIPHER_CTX_new() else { return nil }
        self.pointer = pointer
    }

    deinit { EVP_CIPHER_CTX_free(pointer) }
}
