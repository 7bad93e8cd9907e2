/// Reads the dates and times of RFC 3339, section 5.6, as TOML cuts them.
struct TOMLDateTimeReader {
    var rest: ArraySlice<UInt8>

    /// The date, the time or both; nil if the text is anything else, or names a day or time that does not exist.
    mutating func read() -> TOMLDateTime? {
        guard rest.dropFirst(2).first != UInt8(ascii: ":") else {
            guard let time = time(), rest.isEmpty else { return nil }
            return .time(time)
        }
        guard let day = day() else { return nil }
        if rest.isEmpty { return .day(day) }
        guard take("T") || take("t") || take(" "), let time = time() else { return nil }
        if rest.isEmpty { return .local(day, time) }
        guard let offset = offset(), rest.isEmpty else { return nil }
        return .instant(day, time, offsetMinutes: offset)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// A number of exactly `count` digits, at most 9, in `range`.
    private mutating func number(_ count: Int, _ range: ClosedRange<Int>) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(\.isDigit) else { return nil }
        rest = rest.dropFirst(count)
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return range.contains(number) ? number : nil
    }

    private mutating func day() -> TOMLDateTime.Day? {
        guard let year = number(4, 0...9999), take("-"), let month = number(2, 1...12), take("-"),
            let day = number(2, 1...Self.dayCount(month, year))
        else { return nil }
        return TOMLDateTime.Day(year: year, month: month, day: day)
    }

    private static func dayCount(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private mutating func time() -> TOMLDateTime.Time? {
        guard let hour = number(2, 0...23), take(":"), let minute = number(2, 0...59), take(":"),
            let second = number(2, 0...60)
        else { return nil }
        var nanosecond = 0
        if take(".") {
            let digits = rest.prefix { $0.isDigit }
            guard !digits.isEmpty else { return nil }
            rest = rest.dropFirst(digits.count)
            let padded = digits.prefix(9) + repeatElement(UInt8(ascii: "0"), count: max(0, 9 - digits.count))
            nanosecond = padded.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        return TOMLDateTime.Time(hour: hour, minute: minute, second: second, nanosecond: nanosecond)
    }

    private mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take("+") || take("-"), let hours = number(2, 0...23), take(":"), let minutes = number(2, 0...59)
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }
}
