/// Numbers in bytes that others wrote: nil wherever they end.
struct ByteReading: Sendable {
    let bytes: ArraySlice<UInt8>
    var isBigEndian = true

    var count: Int { bytes.count }

    /// - Parameter offset: from the beginning of `bytes`.
    func byte(_ offset: Int) -> UInt8? {
        offset >= 0 && offset < bytes.count ? bytes[bytes.startIndex + offset] : nil
    }

    func uint16(_ offset: Int) -> Int? { number(offset, 2).map { Int($0) } }
    func uint32(_ offset: Int) -> Int? { number(offset, 4).map { Int($0) } }
    func uint64(_ offset: Int) -> UInt64? { number(offset, 8) }

    func slice(_ offset: Int, _ count: Int) -> ArraySlice<UInt8>? {
        guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else { return nil }
        return bytes[(bytes.startIndex + offset)..<(bytes.startIndex + offset + count)]
    }

    private func number(_ offset: Int, _ count: Int) -> UInt64? {
        guard let slice = slice(offset, count) else { return nil }
        return isBigEndian
            ? slice.reduce(0) { $0 << 8 | UInt64($1) } : slice.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
