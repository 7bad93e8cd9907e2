/// Sizes as people write them: `1 GiB`, `500MB`, `4096`.
package enum ByteCountText {
    static let units: [(name: String, byteCount: Int64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1),
    ]

    /// The bytes that a whole number and an optional unit (KiB MiB GiB TiB KB MB GB TB B, any case) stand for; nil for
    /// any other text and for what does not fit an `Int64`.
    package static func parse(_ text: String) -> Int64? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty, let number = Int64(Substring(digits)) else { return nil }
        let rest = text[digits.endIndex...].drop { $0 == " " }
        guard !rest.isEmpty else { return text.utf8.count == digits.count ? number : nil }
        guard let unit = units.first(where: { $0.name.lowercased() == rest.lowercased() }) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.byteCount)
        return overflow ? nil : product
    }

    /// `byteCount` in the largest unit that needs no fraction, binary before decimal.
    package static func format(_ byteCount: Int64) -> String {
        for unit in units.dropLast() where byteCount != 0 && byteCount % unit.byteCount == 0 {
            return "\(byteCount / unit.byteCount) \(unit.name)"
        }
        return "\(byteCount) B"
    }
}
