/// A moment in the three forms that HTTP has for it (RFC 9110, section 5.6.7).
package struct HTTPDate: Equatable, Sendable {
    package var secondsSince1970: Int64

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`; nil for
    /// anything else. The day of the week is not verified.
    package init?(parsing text: String) {
        guard text.utf8.count <= 40 else { return nil }
        let words = text.split(separator: " ").map(String.init)
        let day, month, year, time: String
        switch (text.contains(","), words.count) {
        case (true, 6) where words[5] == "GMT":
            (day, month, year, time) = (words[1], words[2], words[3], words[4])
        case (true, 4) where words[3] == "GMT":
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3 else { return nil }
            (day, month, year, time) = (date[0], date[1], date[2], words[2])
        case (false, 5):
            (month, day, time, year) = (words[1], words[2], words[3], words[4])
        default:
            return nil
        }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Self.number($0) }
        guard let monthIndex = Self.months.firstIndex(of: month), clock.count == 3,
            let hour = clock[0], let minute = clock[1], let second = clock[2],
            let day = Self.number(day[...]), var wholeYear = Self.number(year[...]),
            (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        switch year.utf8.count {
        case 4: break
        // Two digits: the years from 1970 to 2069.
        case 2: wholeYear += wholeYear < 70 ? 2000 : 1900
        default: return nil
        }
        guard (1970...9999).contains(wholeYear) else { return nil }
        let days = CivilDate.days(year: wholeYear, month: Int64(monthIndex) + 1, day: day)
        secondsSince1970 = days * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// One to four digits.
    private static func number(_ text: Substring) -> Int64? {
        guard (1...4).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(text)
    }
}
