import COpenSSL

/// MD5 (RFC 1321) by OpenSSL's libcrypto, for names that other programs look for. It protects nothing: two texts of one digest
/// are easily made.
public enum MD5 {
    /// The digest of `bytes` in 32 hexadecimal digits, as RFC 1321 writes it; nil where the system's policy forbids MD5.
    public static func text(of bytes: [UInt8]) -> String? {
        var digest = [UInt8](repeating: 0, count: 16)
        guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_md5(), nil) == 1 else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
