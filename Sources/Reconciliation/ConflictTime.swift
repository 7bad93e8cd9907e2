/// A time of day as it stands in the names of conflict copies: `YYYYMMDD-HHMMSS`.
public struct ConflictTime: Hashable, Sendable, CustomStringConvertible {
    private let unixSeconds: Int64

    // The first second of the year 0 and the last of the year 9999: names have four digits for the year.
    private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799
    private static let secondsPerDay: Int64 = 86_400

    /// - parameters:
    ///   - unixSeconds: seconds since 1970; what no name can hold becomes the nearest that it can.
    ///   - utcOffset: seconds by which local time is ahead of UTC, at most a day either way. Syncthing writes local time.
    public init(unixSeconds: Int64, utcOffset: Int64 = 0) {
        let offset = min(max(utcOffset, -Self.secondsPerDay), Self.secondsPerDay)
        let sum = unixSeconds.addingReportingOverflow(offset)
        let local = sum.overflow ? unixSeconds : sum.partialValue
        self.unixSeconds = min(max(local, Self.range.lowerBound), Self.range.upperBound)
    }

    /// The next second; the last of all stays.
    var next: ConflictTime { ConflictTime(unixSeconds: unixSeconds + 1) }

    public var description: String {
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
