import COpenSSL

extension DeviceCertificate {
    /// The curves that a new certificate can have.
    public enum Curve: String, Sendable, CaseIterable {
        case p256 = "P-256"
        case p384 = "P-384"
    }

    /// Makes a new identity with the contents of one made by Syncthing 1.x, so that peers cannot tell them apart.
    ///
    /// X.509 v3, O=Syncthing, OU=Automatically Generated, CN=syncthing, 20 × 365 days from the midnight (UTC) before
    /// `notBefore`, signed with ECDSA and SHA-256, the key as `EC PRIVATE KEY`.
    ///
    /// - Parameter notBefore: Seconds since 1970, from 0 to 20 years before the end of the year 9999; else throws
    ///   `invalidDate`.
    public static func generate(curve: Curve = .p384, notBefore: Int64) throws(CryptographyError) -> DeviceCertificate {
        let day: Int64 = 86_400
        let lifetime = 20 * 365 * day
        let endOfX509: Int64 = 253_402_300_799
        guard (0...endOfX509 - lifetime).contains(notBefore) else {
            throw CryptographyError(
                .invalidDate,
                "this machine's clock is not valid for a certificate; set the clock and try again")
        }
        let midnight = notBefore - notBefore % day

        let pem = try SelfSignedCertificate.pem(
            key: try SelfSignedCertificate.generateKey(curve), from: midnight, to: midnight + lifetime,
            subject: [
                (NID_organizationName, "Syncthing"), (NID_organizationalUnitName, "Automatically Generated"),
                (NID_commonName, "syncthing"),
            ],
            extensions: [
                (NID_key_usage, "critical,digitalSignature,keyEncipherment"),
                (NID_ext_key_usage, "serverAuth,clientAuth"), (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_subject_alt_name, "DNS:syncthing"),
            ])
        return try DeviceCertificate(certificatePEM: pem.certificate, privateKeyPEM: pem.key)
    }
}

/// Makes certificates that their own key signs.
enum SelfSignedCertificate {
    /// The certificate and its key as PEM texts, signed with SHA-256.
    static func pem(
        key: borrowing OwnedKey, from: Int64, to: Int64, subject: [(CInt, String)], extensions: [(CInt, String)]
    ) throws(CryptographyError) -> (certificate: String, key: String) {
        guard let certificate = OwnedCertificate(taking: X509_new()) else {
            throw .libraryFailed("allocate a certificate")
        }
        try fill(certificate, key: key, from: from, to: to, subject, extensions)
        guard X509_sign(certificate.pointer, key.pointer, EVP_sha256()) > 0 else {
            throw .libraryFailed("sign the certificate")
        }
        let der = try der(of: certificate)
        return (try PEMBlock(label: "CERTIFICATE", header: "", contents: der).text(), try sec1PEM(of: key))
    }

    static func generateKey(_ curve: DeviceCertificate.Curve) throws(CryptographyError) -> OwnedKey {
        guard let context = OwnedKeyContext(algorithm: "EC") else { throw .libraryFailed("find elliptic curves") }
        var pointer: OpaquePointer?
        guard EVP_PKEY_keygen_init(context.pointer) == 1,
            EVP_PKEY_CTX_set_group_name(context.pointer, curve.rawValue) == 1,
            EVP_PKEY_generate(context.pointer, &pointer) == 1,
            let key = OwnedKey(taking: pointer)
        else { throw .libraryFailed("make a key on \(curve.rawValue)") }
        return key
    }

    private static func fill(
        _ certificate: borrowing OwnedCertificate, key: borrowing OwnedKey, from: Int64, to: Int64,
        _ subject: [(CInt, String)], _ extensions: [(CInt, String)]
    ) throws(CryptographyError) {
        let x509 = certificate.pointer
        // RFC 5280, 4.1.2.2: a serial number is positive.
        let serial = max(1, SecureRandom.uint64())
        guard X509_set_version(x509, 2) == 1,  // v3 is written as 2
            ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial) == 1,
            ASN1_TIME_set(X509_getm_notBefore(x509), time_t(from)) != nil,
            ASN1_TIME_set(X509_getm_notAfter(x509), time_t(to)) != nil,
            X509_set_pubkey(x509, key.pointer) == 1
        else { throw .libraryFailed("fill the certificate") }

        let name = X509_get_subject_name(x509)
        for (identifier, text) in subject {
            guard X509_NAME_add_entry_by_NID(name, identifier, V_ASN1_PRINTABLESTRING, text, -1, -1, 0) == 1 else {
                throw .libraryFailed("name the certificate")
            }
        }
        // Self-signed: issuer and subject are the same.
        guard X509_set_issuer_name(x509, name) == 1 else { throw .libraryFailed("name the certificate") }

        for (identifier, text) in extensions {
            guard let part = X509V3_EXT_conf_nid(nil, nil, identifier, text) else {
                throw .libraryFailed("extend the certificate")
            }
            defer { X509_EXTENSION_free(part) }
            guard X509_add_ext(x509, part, -1) == 1 else { throw .libraryFailed("extend the certificate") }
        }
    }

    private static func der(of certificate: borrowing OwnedCertificate) throws(CryptographyError) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate.pointer, &bytes)
        defer { CRYPTO_free(bytes, #fileID, #line) }
        guard count > 0, let bytes else { throw .libraryFailed("encode the certificate") }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    private static func sec1PEM(of key: borrowing OwnedKey) throws(CryptographyError) -> String {
        guard let sink = OwnedBuffer(),
            PEM_write_bio_PrivateKey_traditional(sink.pointer, key.pointer, nil, nil, 0, nil, nil) == 1
        else { throw .libraryFailed("encode the private key") }
        return String(decoding: sink.drain(), as: UTF8.self)
    }
}
