import CZlib

/// A part of a PNG (section 5.3 of its specification, third edition).
struct PNGChunk: Equatable {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    var kind: String
    var content: [UInt8]

    /// The parts of a picture; nil if it is none, or a part is damaged.
    static func read(_ picture: [UInt8]) -> [PNGChunk]? {
        guard picture.starts(with: signature) else { return nil }
        var rest = picture.dropFirst(signature.count)
        var chunks: [PNGChunk] = []
        while !rest.isEmpty {
            guard let length = number(rest.prefix(4)), rest.count >= 12, length <= UInt32(rest.count - 12) else {
                return nil
            }
            let named = rest.dropFirst(4).prefix(4 + Int(length))
            let check = rest.dropFirst(8 + Int(length)).prefix(4)
            guard number(check) == checksum(Array(named)), named.prefix(4).allSatisfy({ $0 < 0x80 }) else { return nil }
            chunks.append(
                PNGChunk(kind: String(decoding: named.prefix(4), as: UTF8.self), content: Array(named.dropFirst(4))))
            rest = rest.dropFirst(12 + Int(length))
        }
        return chunks
    }

    var bytes: [UInt8] {
        let named = Array(kind.utf8) + content
        return Self.bytes(UInt32(clamping: content.count)) + named + Self.bytes(Self.checksum(named))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        bytes.count == 4 ? bytes.reduce(0) { $0 << 8 | UInt32($1) } : nil
    }

    private static func bytes(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        UInt32(truncatingIfNeeded: crc32(0, bytes, UInt32(clamping: bytes.count)))
    }
}
