import COpenSSL

/// The self-signed certificate that a device is known by, and its private key.
///
/// The device id is the SHA-256 of `certificateDER`; losing the key is losing the identity.
public struct DeviceCertificate: Sendable, Equatable {
    /// The keys that Syncthing's peers accept.
    public enum KeyType: Hashable, Sendable {
        case p256
        case p384
        case rsa(bitCount: Int)
        case ed25519
    }

    /// The certificate as it goes over the wire; never encoded again.
    public let certificateDER: [UInt8]
    /// The certificate as one `CERTIFICATE` block.
    public let certificatePEM: String
    /// The unencrypted private key as one block: `EC PRIVATE KEY` (SEC 1), `RSA PRIVATE KEY` (PKCS#1) or `PRIVATE KEY`
    /// (PKCS#8). Write it with mode 0600 only.
    public let privateKeyPEM: String
    public let keyType: KeyType
    /// The subject's common name, nil if it has none; Syncthing peers expect `syncthing`.
    public let commonName: String?

    /// Reads a certificate file and its key file.
    ///
    /// Text around the blocks, and an `EC PARAMETERS` block before the key, are allowed. Throws with the code
    /// `certificateUnreadable`, `severalCertificates`, `privateKeyUnreadable`, `privateKeyEncrypted`, `unsupportedKey`
    /// (anything but P-256, P-384, Ed25519 and RSA from 2048 bits on) or `keyDoesNotMatch`.
    public init(certificatePEM: String, privateKeyPEM: String) throws(CryptographyError) {
        let certificateBlock = try Self.certificateBlock(of: certificatePEM)
        let certificate = try Self.certificate(der: certificateBlock.contents)
        let keyBlock = try Self.privateKeyBlock(of: privateKeyPEM)
        let key = try Self.privateKey(of: keyBlock)

        keyType = try Self.keyType(of: key)
        guard let publicKey = X509_get0_pubkey(certificate.pointer), EVP_PKEY_eq(publicKey, key.pointer) == 1 else {
            throw CryptographyError(
                .keyDoesNotMatch,
                "the private key does not belong to the certificate; restore the certificate file and the key file "
                    + "from the same backup, or remove both to get a new identity",
                cause: CryptographyError.drainErrors())
        }
        certificateDER = certificateBlock.contents
        self.certificatePEM = try certificateBlock.text()
        self.privateKeyPEM = try keyBlock.text()
        commonName = Self.commonName(of: certificate)
    }

    // MARK: reading

    private static let certificateLabels: Set = ["CERTIFICATE", "X509 CERTIFICATE"]
    private static let privateKeyLabels: Set = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"]

    private static func certificateBlock(of text: String) throws(CryptographyError) -> PEMBlock {
        let blocks = try PEMBlock.all(in: text).filter { certificateLabels.contains($0.label) }
        guard let block = blocks.first else {
            throw CryptographyError(
                .certificateUnreadable,
                "the certificate file holds no readable block that begins with -----BEGIN CERTIFICATE-----; restore it "
                    + "from a backup")
        }
        guard blocks.count == 1 else {
            throw CryptographyError(
                .severalCertificates,
                "the certificate file holds \(blocks.count) certificates, but a device shows exactly one; keep only "
                    + "the one that belongs to the key")
        }
        return block
    }

    private static func certificate(der: [UInt8]) throws(CryptographyError) -> OwnedCertificate {
        let parsed = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            guard let start = bytes.baseAddress else { return nil }
            var position: UnsafePointer<UInt8>? = start
            let certificate = d2i_X509(nil, &position, bytes.count)
            // Bytes behind the certificate would change the device id without changing the certificate.
            guard position == start + bytes.count else {
                X509_free(certificate)
                return nil
            }
            return certificate
        }
        guard let certificate = OwnedCertificate(taking: parsed) else {
            throw CryptographyError(
                .certificateUnreadable,
                "the certificate file's CERTIFICATE block is not an X.509 certificate; restore it from a backup",
                cause: CryptographyError.drainErrors())
        }
        return certificate
    }

    private static func privateKeyBlock(of text: String) throws(CryptographyError) -> PEMBlock {
        let blocks = try PEMBlock.all(in: text)
        // Decrypting would ask for a passphrase on the terminal, which an agent does not have.
        if blocks.contains(where: { $0.label == "ENCRYPTED PRIVATE KEY" || $0.header.contains("ENCRYPTED") }) {
            throw CryptographyError(
                .privateKeyEncrypted,
                "the private key file is locked with a passphrase; unlock it with `openssl pkey -in key.pem -out "
                    + "unlocked.pem` and use that, with mode 0600")
        }
        guard let block = blocks.first(where: { privateKeyLabels.contains($0.label) }) else {
            throw CryptographyError(
                .privateKeyUnreadable,
                "the key file has no PRIVATE KEY, EC PRIVATE KEY or RSA PRIVATE KEY block; restore it from a backup")
        }
        return block
    }

    private static func privateKey(of block: PEMBlock) throws(CryptographyError) -> OwnedKey {
        let parsed = block.contents.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
        guard let key = OwnedKey(taking: parsed) else {
            throw CryptographyError(
                .privateKeyUnreadable,
                "the key file's \(block.label) block is damaged; restore it from a backup",
                cause: CryptographyError.drainErrors())
        }
        _ = CryptographyError.drainErrors()
        return key
    }

    private static func keyType(of key: borrowing OwnedKey) throws(CryptographyError) -> KeyType {
        if EVP_PKEY_is_a(key.pointer, "ED25519") == 1 { return .ed25519 }
        let bitCount = Int(EVP_PKEY_get_bits(key.pointer))
        if EVP_PKEY_is_a(key.pointer, "RSA") == 1, bitCount >= 2048 { return .rsa(bitCount: bitCount) }
        if EVP_PKEY_is_a(key.pointer, "EC") == 1 {
            switch groupName(of: key) {
            case "prime256v1", "P-256": return .p256
            case "secp384r1", "P-384": return .p384
            default: break
            }
        }
        _ = CryptographyError.drainErrors()
        throw CryptographyError(
            .unsupportedKey,
            "the type of the private key is not supported; use P-256, P-384, Ed25519 or RSA "
                + "with 2048 bits or more"
        )
    }

    private static func groupName(of key: borrowing OwnedKey) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { buffer in
            var count = 0
            guard let base = buffer.baseAddress,
                EVP_PKEY_get_group_name(key.pointer, base, buffer.count, &count) == 1
            else { return nil }
            return String(cString: base)
        }
    }

    private static func commonName(of certificate: borrowing OwnedCertificate) -> String? {
        let subject = X509_get_subject_name(certificate.pointer)
        let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
        guard index >= 0, let entry = X509_NAME_get_entry(subject, index) else { return nil }
        var utf8: UnsafeMutablePointer<UInt8>?
        let count = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry))
        defer { CRYPTO_free(utf8, #fileID, #line) }
        guard count >= 0, let utf8 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: utf8, count: Int(count)), as: UTF8.self)
    }
}

extension DeviceCertificate: CustomStringConvertible, CustomReflectable {
    /// Names the certificate and leaves the key out, so that a value that gets into a log gives nothing away.
    public var description: String { "DeviceCertificate(\(keyType), sha256: \(SHA256.digest(certificateDER)))" }

    public var customMirror: Mirror { Mirror(self, children: ["keyType": keyType, "commonName": commonName as Any]) }
}
