import Cryptography

/// Who a device is: the SHA-256 of the DER of its certificate (BEP v1, device ID).
///
/// Its text is base32 in eight groups of seven, with one check character after each thirteen.
public struct DeviceID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let digest: SHA256Digest

    public init(digest: SHA256Digest) { self.digest = digest }

    /// The id of the device that owns `certificateDER`, the certificate's bytes as sent, never encoded again.
    public init(certificateDER: some Sequence<UInt8>) { self.init(digest: SHA256.digest(certificateDER)) }

    /// Reads the text form: 56 characters with check characters or the older 52 without, in any case, dashes and
    /// spaces anywhere, and the digits 0, 1 and 8 taken for the letters O, I and B that they are mistyped for.
    ///
    /// - Throws: `wrongLength`, `wrongCharacter`, or `wrongCheckCharacter` with the number of the group, from 1 to 4.
    public init(parsing text: String) throws(DeviceIDError) {
        var characters: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: " "): continue
            case UInt8(ascii: "0"): characters.append(UInt8(ascii: "O"))
            case UInt8(ascii: "1"): characters.append(UInt8(ascii: "I"))
            case UInt8(ascii: "8"): characters.append(UInt8(ascii: "B"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): characters.append(byte - 32)
            default: characters.append(byte)
            }
            guard characters.count <= 56 else { throw .wrongLength }
        }
        if characters.count == 56 {
            var plain: [UInt8] = []
            for group in 0..<4 {
                let part = characters[group * 14..<group * 14 + 13]
                guard let check = Self.checkCharacter(part) else { throw .wrongCharacter }
                guard check == characters[group * 14 + 13] else { throw .wrongCheckCharacter(group: group + 1) }
                plain += part
            }
            characters = plain
        }
        guard characters.count == 52 else { throw .wrongLength }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount = 0
        for character in characters {
            guard let value = Self.value(of: character) else { throw .wrongCharacter }
            bits = (bits << 5 | UInt32(value)) & 0xFFFF
            bitCount += 5
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        guard let digest = SHA256Digest(bytes) else { throw .wrongLength }
        self.init(digest: digest)
    }

    /// The first eight bytes, which stand for the device in version vectors.
    public var shortID: ShortID { ShortID(rawValue: digest.words.0) }

    /// Eight groups of seven characters joined by dashes.
    public var description: String {
        let plain = Self.base32(digest.bytes)
        var checked: [UInt8] = []
        for group in 0..<4 {
            let part = plain[group * 13..<group * 13 + 13]
            checked += part
            checked.append(Self.checkCharacter(part) ?? UInt8(ascii: "A"))
        }
        var text = ""
        for (index, byte) in checked.enumerated() {
            if index > 0, index % 7 == 0 { text.append("-") }
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return text
    }

    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }

    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "2")...UInt8(ascii: "7"): character - UInt8(ascii: "2") + 26
        default: nil
        }
    }

    /// The base32 text of bytes, without padding.
    package static func base32(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xFFFF
            bitCount += 8
            while bitCount >= 5 {
                bitCount -= 5
                text.append(alphabet[Int(bits >> UInt32(bitCount) & 31)])
            }
        }
        if bitCount > 0 { text.append(alphabet[Int(bits << UInt32(5 - bitCount) & 31)]) }
        return text
    }

    /// Syncthing's check character: Luhn mod 32 walked from left to right with factors 1, 2, 1, 2, ….
    static func checkCharacter(_ characters: ArraySlice<UInt8>) -> UInt8? {
        var factor = 1
        var sum = 0
        for character in characters {
            guard let value = value(of: character) else { return nil }
            let addend = factor * Int(value)
            factor = 3 - factor
            sum += addend / 32 + addend % 32
        }
        return alphabet[(32 - sum % 32) % 32]
    }
}

/// Why a text is no device id; `description` says what to do.
public enum DeviceIDError: Error, Equatable, Sendable, CustomStringConvertible {
    case wrongLength
    case wrongCharacter
    case wrongCheckCharacter(group: Int)

    public var description: String {
        switch self {
        case .wrongLength:
            "a device id has 56 letters and digits (8 groups of 7); copy it whole, as `synctrain id` prints it"
        case .wrongCharacter:
            "a device id has only the letters A to Z and the digits 2 to 7; copy it whole, as `synctrain id` prints it"
        case .wrongCheckCharacter(let group):
            "the device id has a typing error in groups \(group * 2 - 1) and \(group * 2); compare them and try again"
        }
    }
}

/// The first eight bytes of a device id as a big-endian integer: a device's name in version vectors.
public struct ShortID: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The first seven base32 characters, as they stand in the names of conflict copies.
    public var description: String {
        let bytes = withUnsafeBytes(of: rawValue.bigEndian) { Array($0) }
        return String(decoding: DeviceID.base32(bytes).prefix(7), as: UTF8.self)
    }
}

/// The name that devices share a folder under: any text without control characters, compared byte by byte.
public struct FolderID: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(_ text: String) { self.init(rawValue: text) }

    // Swift compares texts by what they look like: "é" in one code point would equal "é" in two.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.utf8.elementsEqual(right.rawValue.utf8) }

    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(byte) }
    }

    public var description: String { rawValue }
}

/// The random number that marks one life of a device's index of a folder; zero says "none".
public struct IndexID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let none = IndexID(rawValue: 0)

    public var description: String { "0x" + String(rawValue, radix: 16) }
}
