import Glibc
import Phrases

/// RFC 3339 times as the agent gives them.
enum Timestamp {
    /// Seconds since 1970 of `2026-11-21T14:03:05.25Z` or with an offset; nil if it is no such time.
    static func seconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int64? {
            guard range.upperBound <= bytes.count else { return nil }
            var value: Int64 = 0
            for byte in bytes[range] {
                guard case UInt8(ascii: "0")...UInt8(ascii: "9") = byte else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return value
        }
        func has(_ character: Character, at index: Int) -> Bool {
            index < bytes.count && bytes[index] == character.asciiValue
        }
        guard let year = number(0..<4), has("-", at: 4), let month = number(5..<7), has("-", at: 7),
            let day = number(8..<10), has("T", at: 10) || has("t", at: 10), let hour = number(11..<13),
            has(":", at: 13), let minute = number(14..<16), has(":", at: 16), let second = number(17..<19),
            isDate(year: year, month: month, day: day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var index = 19
        if has(".", at: index) {
            index += 1
            while index < bytes.count, number(index..<index + 1) != nil { index += 1 }
        }
        var offset: Int64 = 0
        if has("+", at: index) || has("-", at: index) {
            guard let hours = number(index + 1..<index + 3), has(":", at: index + 3),
                let minutes = number(index + 4..<index + 6), index + 6 == bytes.count
            else { return nil }
            offset = (hours * 60 + minutes) * (has("-", at: index) ? -60 : 60)
        } else {
            guard has("Z", at: index) || has("z", at: index), index + 1 == bytes.count else { return nil }
        }
        return days(year: year, month: month, day: day) * 86400 + hour * 3600 + minute * 60 + second - offset
    }

    /// `2026-11-21 14:03`, or as the language has it, in local time; `-` for nil and for what is no time.
    static func local(_ text: String?) -> String {
        guard let text, let seconds = seconds(text) else { return "-" }
        var clock = time_t(seconds)
        var parts = tm()
        guard localtime_r(&clock, &parts) != nil else { return "-" }
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return translated(
            "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
                + "\(two(parts.tm_hour)):\(two(parts.tm_min))")
    }

    /// Seconds since 1970 of an RFC 3339 time, or of `2026-11-21`, `2026-11-21 14:03`, `2026-11-21 14:03:05` or
    /// `20261121-140305` in local time, a `T` for the space; the day may come first: `21.11.2026 14:03`. Nil for any other text.
    static func seconds(typed text: String) -> Int64? {
        if let seconds = seconds(text) { return seconds }
        var digits = text.utf8.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let shape = String(
            decoding: text.utf8.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) ? UInt8(ascii: "0") : $0 },
            as: UTF8.self
        ).replacing("T", with: " ")
        let isDayFirst = shape.hasPrefix("00.00.0000") || shape.hasPrefix("00-00-0000")
        let start = isDayFirst ? "0000-00-00" + shape.dropFirst(10) : shape
        guard ["0000-00-00", "0000-00-00 00:00", "0000-00-00 00:00:00", "00000000-000000"].contains(start) else {
            return nil
        }
        if isDayFirst { digits = Array(digits[4..<8] + digits[2..<4] + digits[0..<2] + digits[8...]) }
        func number(_ range: Range<Int>) -> Int32 {
            guard range.upperBound <= digits.count else { return 0 }
            return digits[range].reduce(0) { $0 * 10 + Int32($1 - UInt8(ascii: "0")) }
        }
        var parts = tm()
        parts.tm_year = number(0..<4) - 1900
        parts.tm_mon = number(4..<6) - 1
        parts.tm_mday = number(6..<8)
        parts.tm_hour = number(8..<10)
        parts.tm_min = number(10..<12)
        parts.tm_sec = number(12..<14)
        parts.tm_isdst = -1
        // A day that is not in the calendar would be one of the next month.
        guard isDate(year: Int64(number(0..<4)), month: Int64(number(4..<6)), day: Int64(parts.tm_mday)),
            parts.tm_hour < 24, parts.tm_min < 60, parts.tm_sec <= 60
        else { return nil }
        return Int64(mktime(&parts))
    }

    /// `2026-11-21 14:03:05` in local time; `-` for nil and for what is no time.
    static func precise(_ text: String?) -> String {
        guard let text, let seconds = seconds(text) else { return "-" }
        var clock = time_t(seconds)
        var parts = tm()
        guard localtime_r(&clock, &parts) != nil else { return "-" }
        return "\(local(text)):\(parts.tm_sec < 10 ? "0" : "")\(parts.tm_sec)"
    }

    private static func isDate(year: Int64, month: Int64, day: Int64) -> Bool {
        guard (1...12).contains(month) else { return false }
        let next = month == 12 ? (year + 1, 1) : (year, month + 1)
        return (1...days(year: next.0, month: next.1, day: 1) - days(year: year, month: month, day: 1)).contains(day)
    }

    /// Days from 1970-01-01 in the Gregorian calendar: years are counted from March, so that the leap day is the last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let fromMarch = (month + 9) % 12
        let leapDays = year / 4 - year / 100 + year / 400
        return year * 365 + leapDays + (fromMarch * 306 + 5) / 10 + day - 1 - 719_468
    }
}
