/// Numbers in bytes that anybody may have written; nil for what is not whole there.
extension Collection where Element == UInt8, Index == Int {
    func little16(_ offset: Int) -> Int? {
        guard let bytes = field(offset, 2) else { return nil }
        return Int(bytes[bytes.startIndex]) | Int(bytes[bytes.startIndex + 1]) << 8
    }

    func little32(_ offset: Int) -> Int64? {
        guard let low = little16(offset), let high = little16(offset + 2) else { return nil }
        return Int64(low) | Int64(high) << 16
    }

    /// Nil as well for more than an `Int64` holds.
    func little64(_ offset: Int) -> Int64? {
        guard let low = little32(offset), let high = little32(offset + 4), high < 1 << 31 else { return nil }
        return low | high << 32
    }

    /// Counted from the first byte; both numbers from outside, so neither sum nor start is taken for granted.
    func field(_ offset: Int, _ length: Int) -> SubSequence? {
        guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
        return self[(startIndex + offset)..<(startIndex + offset + length)]
    }
}

/// Dates as archives write them.
enum CivilTime {
    /// Seconds since 1970 of a time in UTC in the Gregorian calendar; nil for what is no time.
    static func seconds(_ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int) -> Int64? {
        guard (1900...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        // Years begin in March: the leap day is the last of its year.
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let ofEra = shifted % 400
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days = era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
        return Int64(days * 86_400 + hour * 3600 + minute * 60 + second)
    }
}
