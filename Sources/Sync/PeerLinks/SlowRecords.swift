/// Into which records what is sent over a slow link is cut. Pure.
enum SlowRecords {
    /// No TLS record has more bytes: what has come of a record when the link goes cannot be read.
    static let byteCount = 4200

    /// The bytes of each record: as few as can be, of equal length but for a byte, as a short one at the end would cost as
    /// much as a long one. One, which is empty, for nothing.
    static func lengths(of total: Int) -> [Int] {
        let count = max(1, (total + byteCount - 1) / byteCount)
        var rest = total
        return (0..<count).map { index in
            let length = rest / (count - index)
            rest -= length
            return length
        }
    }
}
