/// A SHA-256 digest: 32 bytes, compared and ordered as big-endian bytes.
///
/// Kept as four words so that a digest costs no allocation: an index of a million blocks holds a million of them.
public struct SHA256Digest: Hashable, Sendable, Comparable, CustomStringConvertible {
    public static let byteCount = 32

    /// The digest's bytes 0–7, 8–15, 16–23 and 24–31, each read as a big-endian integer.
    public let words: (UInt64, UInt64, UInt64, UInt64)

    /// Reads 32 bytes; nil for any other count.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount else { return nil }
        words = (
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)),
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
        )
    }

    /// Reads 32 bytes; nil for any other count.
    public init?(_ bytes: some Collection<UInt8>) {
        let copy = Array(bytes)
        guard let digest = copy.withUnsafeBytes({ SHA256Digest($0) }) else { return nil }
        self = digest
    }

    /// Reads 64 hexadecimal digits of either case; nil for anything else.
    public init?(hex: some StringProtocol) {
        guard hex.utf8.count == 2 * Self.byteCount else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        var high: UInt8?
        for character in hex.utf8 {
            let nibble: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = character - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): nibble = character - UInt8(ascii: "A") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
        self.init(bytes)
    }

    /// Calls `body` with the 32 bytes.
    ///
    /// - Throws: what `body` throws.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let ordered = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return try Swift.withUnsafeBytes(of: ordered, body)
    }

    /// The 32 bytes as an array.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// 64 lower-case hexadecimal digits.
    public var description: String {
        let digits = Array("0123456789abcdef".utf8)
        return withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: 64) { buffer in
                for (index, byte) in bytes.enumerated() {
                    buffer[index * 2] = digits[Int(byte >> 4)]
                    buffer[index * 2 + 1] = digits[Int(byte & 15)]
                }
                return 64
            }
        }
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.words.0 == right.words.0 && left.words.1 == right.words.1 && left.words.2 == right.words.2
            && left.words.3 == right.words.3
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.words < right.words
    }

    public func hash(into hasher: inout Hasher) {
        // All four words: digests that peers claim are no digests of anything, and could all begin alike.
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
