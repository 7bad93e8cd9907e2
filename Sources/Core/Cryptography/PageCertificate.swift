import COpenSSL

/// Makes the certificate that a web page of this machine is served with: signed by its own key, on P-256.
public enum PageCertificate {
    /// Browsers of Apple refuse a certificate for a server that is good for more than 825 days.
    public static let days: Int64 = 820

    /// Makes a certificate and its key, as PEM texts.
    ///
    /// - Parameters:
    ///   - names: host names; others are skipped.
    ///   - addresses: IPv4 and IPv6 addresses in numbers; others are skipped. With no name and no address `localhost` is the name.
    ///   - notBefore: seconds since 1970, from 0 to the end of the year 9990.
    /// - Throws: `CryptographyError`: `invalidDate`; `libraryFailed` if memory or randomness is out.
    public static func generate(
        names: [String], addresses: [String], notBefore: Int64
    ) throws(CryptographyError) -> (certificate: String, key: String) {
        let end: Int64 = 253_117_785_600
        guard (0...end).contains(notBefore) else {
            throw CryptographyError(
                .invalidDate, "this machine's clock is not valid for a certificate; set the clock and try again")
        }
        let found =
            names.filter(isName).prefix(50).map { "DNS:\($0)" }
            + addresses.filter(isAddress).prefix(50).map { "IP:\($0)" }
        let alternatives = found.isEmpty ? ["DNS:localhost"] : found
        let day: Int64 = 86_400
        let midnight = notBefore - notBefore % day
        return try SelfSignedCertificate.pem(
            key: try SelfSignedCertificate.generateKey(.p256), from: midnight, to: midnight + days * day,
            subject: [(NID_organizationName, "synctrain"), (NID_commonName, "synctrain page")],
            extensions: [
                (NID_key_usage, "critical,digitalSignature"), (NID_ext_key_usage, "serverAuth"),
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_subject_alt_name, alternatives.joined(separator: ",")),
            ])
    }

    /// The texts go into a configuration language of libcrypto, in which a comma begins another name.
    private static func isName(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || $0 == 0x2D || $0 == 0x2E
            }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard text.utf8.count <= 45, !text.utf8.contains(0) else { return false }
        guard let octets = a2i_IPADDRESS(text) else {
            _ = CryptographyError.drainErrors()
            return false
        }
        ASN1_OCTET_STRING_free(octets)
        return true
    }
}
