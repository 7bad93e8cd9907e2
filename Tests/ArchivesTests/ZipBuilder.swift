/// Writes zips byte by byte, right ones and wrong ones.
struct ZipBuilder {
    struct Member {
        var name: [UInt8]
        var content: [UInt8]
        /// Nil: stored.
        var packed: [UInt8]?
        var size: Int64?
        var crc: UInt32?
        var flags = 0x800
        var header: Int64?

        init(_ name: String, _ content: [UInt8], packed: [UInt8]? = nil) {
            self.name = Array(name.utf8)
            self.content = content
            self.packed = packed
        }
    }

    var members: [Member]
    /// How many it says there are.
    var count: Int?

    /// `place` is where the first byte goes; what comes before counts as the zip's.
    func bytes(at place: Int64 = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        var directory: [UInt8] = []
        for member in members {
            let data = member.packed ?? member.content
            let size = member.size ?? Int64(member.content.count)
            let header = member.header ?? place + Int64(bytes.count)
            let sizes =
                Self.number(Int64(member.crc ?? Self.crc(member.content)), 4) + Self.number(Int64(data.count), 4)
                + Self.number(size, 4)
            let common =
                Self.number(Int64(member.flags), 2) + Self.number(member.packed == nil ? 0 : 8, 2) + [0, 0, 0x21, 0]
                + sizes
            let large = header >= 0xFFFF_FFFF
            directory += [0x50, 0x4B, 1, 2, 45, 3, 45, 0] + common + Self.number(Int64(member.name.count), 2)
            directory += Self.number(large ? 12 : 0, 2) + [UInt8](repeating: 0, count: 10)
            directory += Self.number(large ? 0xFFFF_FFFF : header, 4) + member.name
            if large { directory += [1, 0, 8, 0] + Self.number(header, 8) }
            bytes += [0x50, 0x4B, 3, 4, 45, 0] + common + Self.number(Int64(member.name.count), 2) + [0, 0]
            bytes += member.name + data
        }
        let start = place + Int64(bytes.count)
        let count = Int64(self.count ?? members.count)
        bytes += directory
        let large = start >= 0xFFFF_FFFF || count > 0xFFFF
        if large {
            let end = place + Int64(bytes.count)
            bytes += [0x50, 0x4B, 6, 6] + Self.number(44, 8) + [45, 3, 45, 0] + Self.number(0, 8)
            bytes += Self.number(count, 8) + Self.number(count, 8) + Self.number(Int64(directory.count), 8)
            bytes += Self.number(start, 8)
            bytes += [0x50, 0x4B, 6, 7] + Self.number(0, 4) + Self.number(end, 8) + Self.number(1, 4)
        }
        bytes += [0x50, 0x4B, 5, 6, 0, 0, 0, 0] + Self.number(count & 0xFFFF, 2) + Self.number(count & 0xFFFF, 2)
        bytes += Self.number(Int64(directory.count), 4) + Self.number(large ? 0xFFFF_FFFF : start, 4) + [0, 0]
        return bytes
    }

    /// Deflate that packs nothing: blocks of at most 65,535 bytes as they are (RFC 1951, 3.2.4).
    static func deflated(_ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = content[...]
        repeat {
            let part = rest.prefix(0xFFFF)
            rest = rest.dropFirst(part.count)
            let count = number(Int64(part.count), 2)
            bytes += [rest.isEmpty ? 1 : 0] + count + count.map { ~$0 } + part
        } while !rest.isEmpty
        return bytes
    }

    static func number(_ value: Int64, _ length: Int) -> [UInt8] {
        (0..<length).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// Bit by bit, unlike the code under test.
    static func crc(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = .max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
