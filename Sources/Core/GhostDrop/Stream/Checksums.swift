/// CRC-16 with the polynomial 0x1021, high bit first, beginning at 0xFFFF ("CRC-16/IBM-3740").
///
/// What it is chosen for: two inputs of one length that differ only within 16 bits in a row never have the same value.
struct CRC16: Sendable {
    private(set) var value: UInt16 = 0xFFFF

    private static let table: [UInt16] = (0..<256).map { byte in
        var remainder = UInt16(byte) << 8
        for _ in 0..<8 { remainder = remainder & 0x8000 == 0 ? remainder << 1 : remainder << 1 ^ 0x1021 }
        return remainder
    }

    mutating func update(_ byte: UInt8) {
        value = value << 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: value >> 8) ^ byte)]
    }

    mutating func update(_ bytes: some Sequence<UInt8>) {
        let table = Self.table
        var value = value
        for byte in bytes { value = value << 8 ^ table[Int(UInt8(truncatingIfNeeded: value >> 8) ^ byte)] }
        self.value = value
    }

    mutating func update(_ number: UInt16) {
        update(UInt8(truncatingIfNeeded: number >> 8))
        update(UInt8(truncatingIfNeeded: number))
    }

    mutating func update(_ number: UInt32) {
        update(UInt16(truncatingIfNeeded: number >> 16))
        update(UInt16(truncatingIfNeeded: number))
    }
}

/// CRC-32 as in zip and PNG, for the few packets that open and end a connection.
enum CRC32 {
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var value = UInt32.max
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
        }
        return ~value
    }
}
