import COpenSSL

/// Base64 with padding (RFC 4648, section 4), as JSON bodies carry bytes.
public enum Base64 {
    public static func encode(_ bytes: [UInt8]) -> String {
        // OpenSSL counts in Int32, and ends the text with a zero.
        precondition(bytes.count <= 1 << 30, "no message has a gigabyte")
        return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text in
            Int(EVP_EncodeBlock(text.baseAddress, bytes, Int32(bytes.count)))
        }
    }

    /// Nil for what `encode` does not write: no whole groups of four, other letters, space, bits after the last byte.
    public static func decode(_ text: String) -> [UInt8]? {
        let count = text.utf8.count
        guard count.isMultiple(of: 4), count <= 1 << 30 else { return nil }
        var bytes = [UInt8](repeating: 0, count: count / 4 * 3)
        guard EVP_DecodeBlock(&bytes, Array(text.utf8), Int32(count)) == bytes.count else { return nil }
        bytes.removeLast(text.utf8.suffix(2).count { $0 == UInt8(ascii: "=") })
        return encode(bytes) == text ? bytes : nil
    }
}

/// Base64 with the letters that need no quoting (RFC 4648, section 5), without padding.
public enum Base64URL {
    public static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.filter { $0 != UInt8(ascii: "=") }
        return String(decoding: text.map { exchange($0, "+/", "-_") }, as: UTF8.self)
    }

    /// Nil for what `encode` does not write.
    public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        let text = Array(text)
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        let bytes = Base64.decode(String(decoding: text.map { exchange($0, "-_", "+/") } + padding, as: UTF8.self))
        return bytes.flatMap { encode($0).utf8.elementsEqual(text) ? $0 : nil }
    }

    /// The letter of `others` if it is one of `letters`, and the other way round: so that neither reads as the other.
    private static func exchange(_ letter: UInt8, _ letters: StaticString, _ others: StaticString) -> UInt8 {
        for index in 0..<letters.utf8CodeUnitCount where letters.utf8Start[index] == letter {
            return others.utf8Start[index]
        }
        return letter
    }
}
