import Glibc

/// A moment by the wall clock: seconds since 1970 (UTC) and nanoseconds within.
package struct WallTime: Hashable, Sendable, Comparable {
    package var seconds: Int64
    package var nanoseconds: Int32

    package init(seconds: Int64, nanoseconds: Int32 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
    }

    /// Seconds by which local time is ahead of UTC at a time in unix seconds.
    package static func utcOffset(_ unixSeconds: Int64) -> Int64 {
        var time = time_t(unixSeconds)
        var local = tm()
        guard localtime_r(&time, &local) != nil else { return 0 }
        return Int64(local.tm_gmtoff)
    }

    /// Nanoseconds since 1970, as far as 64 bits reach: to the year 2262.
    package var unixNanoseconds: Int64 {
        let (whole, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflows) = whole.addingReportingOverflow(Int64(nanoseconds))
        return isTooFar || overflows ? (seconds < 0 ? .min : .max) : sum
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// RFC 3339 in UTC; a fraction of 3, 6 or 9 digits where there is one. Years beyond 0 to 9999, which RFC 3339 cannot
    /// write, are cut to its ends.
    package var rfc3339: String {
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let second = Int(seconds - days * 86_400)
        // Civil date from a count of days: years are counted from March, eras have 400 years (146,097 days).
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = Int(dayOfYear - (153 * marchMonth + 2) / 5 + 1)
        let month = Int(marchMonth < 10 ? marchMonth + 3 : marchMonth - 9)
        let year = Int(yearOfEra + era * 400 + (month <= 2 ? 1 : 0))
        var text: [UInt8] = []
        text.reserveCapacity(30)
        func digits(_ value: Int, _ count: Int) {
            var divisor = 1
            for _ in 1..<count { divisor *= 10 }
            while divisor > 0 {
                text.append(UInt8(48 + value / divisor % 10))
                divisor /= 10
            }
        }
        digits(year, 4)
        text.append(UInt8(ascii: "-"))
        digits(month, 2)
        text.append(UInt8(ascii: "-"))
        digits(day, 2)
        text.append(UInt8(ascii: "T"))
        digits(second / 3600, 2)
        text.append(UInt8(ascii: ":"))
        digits(second / 60 % 60, 2)
        text.append(UInt8(ascii: ":"))
        digits(second % 60, 2)
        if nanoseconds > 0 {
            text.append(UInt8(ascii: "."))
            let nanoseconds = Int(nanoseconds)
            if nanoseconds % 1_000_000 == 0 {
                digits(nanoseconds / 1_000_000, 3)
            } else if nanoseconds % 1000 == 0 {
                digits(nanoseconds / 1000, 6)
            } else {
                digits(nanoseconds, 9)
            }
        }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }
}
