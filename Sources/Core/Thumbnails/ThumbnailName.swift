import Cryptography

/// Where the thumbnail of a content lies beneath a cache. The layout is Sushitrain's, so that both programs find each
/// other's.
package struct ThumbnailName: Hashable, Sendable, CustomStringConvertible {
    /// Bytes of the shortest key that says enough of a hash; what has fewer gets no thumbnail, as in Sushitrain.
    static let shortestKey = 6

    /// Relative, canonical, in ASCII: `a/b/REST.jpg`.
    package let path: String

    package var description: String { path }

    /// - Parameter blocksHash: SHA-256 over the hashes of a file's blocks (`FileInfo.blocksHash`).
    ///
    /// Nil for a hash of which too few letters are left, which no content is known to have.
    package init?(blocksHash: SHA256Digest) {
        let key = Base64.encode(blocksHash.bytes).utf8.compactMap(Self.keyLetter)
        guard key.count >= Self.shortestKey else { return nil }
        path = Self.path(key)
    }

    /// Reads a path beneath a cache; nil for one that `init(blocksHash:)` does not make.
    package init?(path: String) {
        let bytes = Array(path.utf8)
        let slash = UInt8(ascii: "/")
        guard bytes.count >= Self.shortestKey + 6, bytes.count <= 50, bytes[1] == slash, bytes[3] == slash,
            bytes.suffix(4).elementsEqual(".jpg".utf8)
        else { return nil }
        let key = [bytes[0], bytes[2]] + bytes[4..<(bytes.count - 4)]
        guard key.allSatisfy({ Self.keyLetter($0) == $0 }) else { return nil }
        self.path = path
    }

    /// The letter in lower case; nil for what is not kept of the base64 text.
    private static func keyLetter(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): letter
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter | 0x20
        default: nil
        }
    }

    /// - Parameter key: at least three letters.
    private static func path(_ key: [UInt8]) -> String {
        let slash = UInt8(ascii: "/")
        return String(decoding: [key[0], slash, key[1], slash] + key[2...], as: UTF8.self) + ".jpg"
    }
}
