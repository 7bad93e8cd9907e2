// bounded-names: offset: 0 to 15

/// Looks for a text in names without regard to case and accents.
///
/// ASCII letters are folded byte by byte, sixteen at a time; other letters are compared in lower case as Unicode has it and without
/// their accents, which only names with such letters pay for.
struct SubstringMatcher {
    /// In lower case, without accents.
    let needle: [UInt8]
    private let isASCII: Bool
    /// The needle's ends with the bit set that tells ASCII's lower case from upper case.
    private let first: SIMD16<UInt8>
    private let last: SIMD16<UInt8>

    private static let caseBit: UInt8 = 0x20

    init(_ text: String) {
        needle = Array(Accents.removed(from: text.lowercased()).utf8)
        isASCII = needle.allSatisfy { $0 < 0x80 }
        first = SIMD16(repeating: (needle.first ?? 0) | Self.caseBit)
        last = SIMD16(repeating: (needle.last ?? 0) | Self.caseBit)
    }

    /// `name` as the needle is compared with it.
    func folded(_ name: UnsafeRawBufferPointer) -> [UInt8] {
        if Self.isASCII(name) { return name.map(Self.fold) }
        return Array(Accents.removed(from: String(decoding: name, as: UTF8.self).lowercased()).utf8)
    }

    /// Whether the text is in `name`.
    func matches(_ name: UnsafeRawBufferPointer) -> Bool {
        if isASCII, contains(name) { return true }
        // No ASCII name has a letter of other scripts.
        if Self.isASCII(name) { return false }
        return folded(name).withUnsafeBytes { contains($0) }
    }

    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var start = 0
        var seen = SIMD16<UInt8>.zero
        while start <= bytes.count - 16 {
            seen |= bytes.loadUnaligned(fromByteOffset: start, as: SIMD16<UInt8>.self)
            start += 16
        }
        var rest = seen.max()
        while start < bytes.count {
            rest |= bytes[start]
            start += 1
        }
        return rest < 0x80
    }

    /// Whether the needle is in `bytes`, ASCII letters being folded.
    func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if needle.isEmpty { return true }
        guard bytes.count >= needle.count else { return false }
        let end = bytes.count - needle.count
        var start = 0
        // Sixteen places at a time: only where both ends of the needle fit, the rest is compared.
        while start <= end - 15 {
            let heads = bytes.loadUnaligned(fromByteOffset: start, as: SIMD16<UInt8>.self) | Self.caseBit
            let tails =
                bytes.loadUnaligned(fromByteOffset: start + needle.count - 1, as: SIMD16<UInt8>.self) | Self.caseBit
            let mask = (heads .== first) .& (tails .== last)
            let halves = unsafeBitCast(mask, to: SIMD2<UInt64>.self)
            if halves.x | halves.y != 0 {
                for offset in 0..<16 where mask[offset] && isEqual(bytes, at: start + offset) { return true }
            }
            start += 16
        }
        while start <= end {
            if isEqual(bytes, at: start) { return true }
            start += 1
        }
        return false
    }

    private func isEqual(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Bool {
        for index in needle.indices where Self.fold(bytes[start + index]) != needle[index] { return false }
        return true
    }

    private static func fold(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | caseBit : byte
    }
}
