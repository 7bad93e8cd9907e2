/// How fast blocks may go over links, and when.
package struct TransferLimits: Equatable, Sendable {
    /// Bytes per second; nil for no limit.
    package struct Rates: Equatable, Sendable {
        package var up: Int64?
        package var down: Int64?

        package init(up: Int64? = nil, down: Int64? = nil) {
            self.up = up
            self.down = down
        }
    }

    /// The names are those of the configuration file; Monday is the first.
    package enum Day: String, CaseIterable, Sendable {
        case monday = "mon"
        case tuesday = "tue"
        case wednesday = "wed"
        case thursday = "thu"
        case friday = "fri"
        case saturday = "sat"
        case sunday = "sun"
    }

    /// Other rates at some time of some days.
    package struct Window: Equatable, Sendable {
        /// On which it begins; empty for all.
        package var days: Set<Day>
        /// Minutes of the day by the local clock. One that ends before it begins ends on the next day; one that ends
        /// when it begins lasts a day.
        package var from: Int
        package var to: Int
        package var rates: Rates

        package init(days: Set<Day> = [], from: Int, to: Int, rates: Rates) {
            self.days = days
            self.from = from
            self.to = to
            self.rates = rates
        }

        /// Whether a minute of a day is in it.
        func contains(_ minute: Int, of day: Day) -> Bool {
            func begins(on day: Day) -> Bool { days.isEmpty || days.contains(day) }
            if from < to { return begins(on: day) && (from..<to).contains(minute) }
            return begins(on: day) && minute >= from || begins(on: day.before) && minute < to
        }
    }

    /// How many windows there may be.
    static let windowLimit = 100
    static let slowest: Int64 = 1024

    package var usual: Rates
    /// The first that it is the time of counts.
    package var windows: [Window]
    /// Whether links within the local network are limited as well.
    package var includesLocalNetwork: Bool

    package init(usual: Rates = Rates(), windows: [Window] = [], includesLocalNetwork: Bool = false) {
        self.usual = usual
        self.windows = windows
        self.includesLocalNetwork = includesLocalNetwork
    }

    /// The rates at a time.
    ///
    /// - Parameters:
    ///   - unixSeconds: since 1970.
    ///   - utcOffset: seconds by which the local clock is ahead of UTC at that time.
    package func rates(at unixSeconds: Int64, utcOffset: Int64) -> Rates {
        guard !windows.isEmpty else { return usual }
        let farthest: Int64 = 1 << 50
        let local = min(max(unixSeconds, -farthest), farthest) + min(max(utcOffset, -86_400), 86_400)
        // Rounded down, also before 1970.
        let minutes = local >= 0 ? local / 60 : (local - 59) / 60
        let days = minutes >= 0 ? minutes / 1440 : (minutes - 1439) / 1440
        let minute = Int(minutes - days * 1440)
        // 1970-01-01 was a Thursday.
        let weekday = Int(((days + 3) % 7 + 7) % 7)
        let day = Day.allCases[weekday]
        return windows.first { $0.contains(minute, of: day) }?.rates ?? usual
    }

    func problem() -> SettingProblem? {
        guard windows.count <= Self.windowLimit else {
            return SettingProblem(
                .invalidValue, "at most \(Self.windowLimit) schedules are allowed; remove some")
        }
        for rates in [usual] + windows.map(\.rates) {
            for rate in [rates.up, rates.down] {
                if let problem = Self.problem(rate: rate) { return problem }
            }
        }
        return nil
    }

    static func problem(rate: Int64?) -> SettingProblem? {
        guard let rate, rate < slowest else { return nil }
        return SettingProblem(
            .invalidValue, "a limit is at least 1 KiB/s, or 0 for none; `synctrain pause` stops all transfers")
    }
}

extension TransferLimits {
    /// `08:30` in minutes; nil for any other text.
    static func minuteOfDay(_ text: String) -> Int? {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { part in
            part.count == 2 && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard parts.count == 2, areDigits, let hour = Int(Substring(parts[0])), let minute = Int(Substring(parts[1])),
            minute < 60, hour * 60 + minute <= 1440
        else { return nil }
        return hour * 60 + minute
    }
}

extension TransferLimits.Day {
    fileprivate var before: Self {
        let all = Self.allCases
        let place = all.firstIndex(of: self) ?? 0
        return all[(place + all.count - 1) % all.count]
    }
}
