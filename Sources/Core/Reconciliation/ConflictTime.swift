import Arithmetic

/// A time of day as it stands in the names of conflict copies and of archived versions: `YYYYMMDD-HHMMSS`.
package struct ConflictTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// As if local time were UTC.
    private let unixSeconds: Int64

    // The first second of the year 0 and the last of the year 9999: names have four digits for the year.
    private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799
    private static let secondsPerDay: Int64 = 86_400

    /// - parameters:
    ///   - unixSeconds: seconds since 1970; what no name can hold becomes the nearest that it can.
    ///   - utcOffset: seconds by which local time is ahead of UTC, at most a day either way. Syncthing writes local time.
    package init(unixSeconds: Int64, utcOffset: Int64 = 0) {
        let offset = min(max(utcOffset, -Self.secondsPerDay), Self.secondsPerDay)
        let sum = unixSeconds.addingReportingOverflow(offset)
        let local = sum.overflow ? unixSeconds : sum.partialValue
        self.unixSeconds = min(max(local, Self.range.lowerBound), Self.range.upperBound)
    }

    /// Reads `YYYYMMDD-HHMMSS`; nil for any other text, and for days and hours that there are not.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 15, bytes[8] == UInt8(ascii: "-") else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            bytes[range].reduce(Int64?.some(0)) { sum, byte in
                guard let sum, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                return sum * 10 + Int64(byte - UInt8(ascii: "0"))
            }
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
            let minute = number(11..<13), let second = number(13..<15), (1...12).contains(month),
            (1...31).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }
        self.init(
            unixSeconds: Self.days(year: year, month: month, day: day) * Self.secondsPerDay + hour * 3600 + minute * 60
                + second)
        // A day that the month has not is the next month's.
        guard description.utf8.elementsEqual(bytes) else { return nil }
    }

    package static func < (left: ConflictTime, right: ConflictTime) -> Bool { left.unixSeconds < right.unixSeconds }

    /// When that was, in seconds since 1970. An hour that a change of the clocks makes come twice is the second.
    ///
    /// - parameter utcOffset: seconds by which local time is ahead of UTC at a time.
    package func unixSeconds(utcOffset: (Int64) -> Int64) -> Int64 {
        let guess = unixSeconds - utcOffset(unixSeconds)
        return unixSeconds - utcOffset(guess)
    }

    /// When that was, in seconds since 1970, of the name of a file that got it then. The name does not say in which zone the
    /// clock was: it is one in which the disk saw the file then, or else today's.
    ///
    /// - parameters:
    ///   - utcOffset: seconds by which local time is ahead of UTC at a time.
    ///   - changed: when the disk last changed the file's names or attributes, in seconds since 1970; nil if it does not say.
    package func unixSeconds(utcOffset: (Int64) -> Int64, changed: Int64?) -> Int64 {
        let usual = unixSeconds(utcOffset: utcOffset)
        guard let changed else { return usual }
        // Names of one second follow one another, and a file may take a while until it is where it is to be.
        func isSeen(_ time: Int64) -> Bool { (-5...10).contains(changed.subtractingClamped(time)) }
        if isSeen(usual) { return usual }
        // All zones are whole quarters of an hour away from UTC.
        let times = stride(from: Int64(-12 * 3600), through: 14 * 3600, by: 900).lazy.map { unixSeconds - $0 }
        return times.first(where: isSeen) ?? usual
    }

    /// Days from 1970-01-01, which come before the year 0 for no date that is read here.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        // One era more keeps the first months of the year 0 positive.
        let year = (month > 2 ? year : year - 1) + 400
        let fromMarch = (month + 9) % 12
        let leapDays = year / 4 - year / 100 + year / 400
        return year * 365 + leapDays + (fromMarch * 153 + 2) / 5 + day - 1 - 719_468 - 146_097
    }

    /// The next second; the last of all stays.
    package var next: ConflictTime { ConflictTime(unixSeconds: unixSeconds + 1) }

    package var description: String {
        var second = unixSeconds % Self.secondsPerDay
        if second < 0 { second += Self.secondsPerDay }
        let (year, month, day) = Self.date(daysSince1970: (unixSeconds - second) / Self.secondsPerDay)
        return Self.digits(year, 4) + Self.digits(month, 2) + Self.digits(day, 2) + "-"
            + Self.digits(second / 3600, 2) + Self.digits(second / 60 % 60, 2) + Self.digits(second % 60, 2)
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    /// The day of the Gregorian calendar. Years are counted from March, so that the leap day is a year's last, and in
    /// eras of 400 years, which all have 146,097 days.
    private static func date(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let daysPerEra: Int64 = 146_097
        // From 0000-03-01 to 1970-01-01; one era more keeps all that a name can hold positive.
        let days = daysSince1970 + 719_468 + daysPerEra
        let era = days / daysPerEra
        let dayOfEra = days % daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        // March to July and August to December have 153 days each, and so has January with what would follow it.
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + (era - 1) * 400 + (month <= 2 ? 1 : 0)
        return (year, month, day)
    }
}
