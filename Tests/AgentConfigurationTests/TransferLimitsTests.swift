import Testing

@testable import AgentConfiguration

@Suite struct TransferLimitsTests {
    static let slow = TransferLimits.Rates(up: 1 << 10, down: nil)
    static let usual = TransferLimits.Rates(up: nil, down: 1 << 20)

    private static func limits(_ days: Set<TransferLimits.Day>, _ from: Int, _ to: Int) -> TransferLimits {
        TransferLimits(usual: usual, windows: [.init(days: days, from: from, to: to, rates: slow)])
    }

    /// Saturday, 2026-11-21 00:00 UTC.
    static let saturday: Int64 = 1_795_219_200

    /// Days, from and to in hours; the hour after that Saturday began, by UTC; and whether the window counts.
    static let table: [(Set<TransferLimits.Day>, Int, Int, Double, Bool)] = [
        ([], 8, 18, 7.99, false), ([], 8, 18, 8, true), ([], 8, 18, 17.99, true), ([], 8, 18, 18, false),
        ([.saturday], 8, 18, 9, true), ([.sunday], 8, 18, 9, false), ([.sunday], 8, 18, 33, true),
        // Over midnight: it belongs to the day on which it begins.
        ([.saturday], 22, 6, 23, true), ([.saturday], 22, 6, 26, true), ([.saturday], 22, 6, 30, false),
        ([.saturday], 22, 6, 2, false), ([.friday], 22, 6, 2, true), ([.sunday], 22, 6, 26, false),
        ([.sunday], 22, 6, 24 * 2 + 1, true),
        // A whole day, and the end of a day.
        ([.saturday], 0, 24, 0, true), ([.saturday], 0, 24, 23.99, true), ([.saturday], 0, 24, 24, false),
        ([], 5, 5, 4, true), ([.saturday], 5, 5, 4, false), ([.saturday], 5, 5, 28, true),
        ([.saturday], 5, 5, 29, false),
    ]

    @Test(arguments: table.indices) func windowsCountAtTheirTime(_ number: Int) {
        let (days, from, to, hours, expected) = Self.table[number]
        let limits = Self.limits(days, from * 60, to * 60)
        let rates = limits.rates(at: Self.saturday + Int64(hours * 3600), utcOffset: 0)
        #expect(rates == (expected ? Self.slow : Self.usual), "\(Self.table[number])")
    }

    /// The clock on the wall counts: where it is set forth or back, a window is an hour shorter or longer.
    @Test func theLocalClockCounts() {
        let limits = Self.limits([], 8 * 60, 9 * 60)
        #expect(limits.rates(at: Self.saturday + 7 * 3600 + 1, utcOffset: 3600) == Self.slow)
        #expect(limits.rates(at: Self.saturday + 7 * 3600 + 1, utcOffset: 0) == Self.usual)
        #expect(limits.rates(at: Self.saturday + 20 * 3600, utcOffset: -12 * 3600) == Self.slow)
        // 02:00 to 03:00 on a night on which the clock goes from 02:00 to 03:00 never is.
        let night = Self.limits([], 120, 180)
        for minute in stride(from: Int64(0), to: 240, by: 7) {
            let offset: Int64 = minute >= 60 ? 7200 : 3600
            #expect(night.rates(at: Self.saturday + minute * 60, utcOffset: offset) == Self.usual)
        }
    }

    @Test func theFirstWindowCountsAndTimesMayBeExtreme() {
        var limits = Self.limits([], 0, 1440)
        limits.windows.append(.init(from: 0, to: 1440, rates: Self.usual))
        for time in [Int64.min, -1, 0, .max] { #expect(limits.rates(at: time, utcOffset: 7200) == Self.slow) }
    }

    private func read(_ text: String) throws -> Configuration {
        try ConfigurationReader(file: "c", userHome: nil, hostName: "h").read(Array(text.utf8))
    }

    @Test func limitsAreReadWithTheirSchedule() throws {
        let limits = try read(
            """
            [limits]
            up = "2 MiB/s"
            down = 0
            local-network = true

            [[limits.schedule]]
            days = ["sat", "sun"]
            from = "22:30"
            to = "06:00"
            down = "500 KB"
            """
        ).limits
        #expect(limits.usual == .init(up: 2 << 20, down: nil))
        #expect(limits.includesLocalNetwork)
        #expect(
            limits.windows == [
                .init(days: [.saturday, .sunday], from: 1350, to: 360, rates: .init(up: nil, down: 500_000))
            ])
        #expect(try read("").limits == TransferLimits())
    }

    @Test(arguments: [
        "up = -1", "up = \"fast\"", "up = 5", "up = \"1 KB/s\"", "up = true", "upp = 1", "local-network = 1",
        "schedule = 1", "[[limits.schedule]]\nfrom = \"8:00\"\nto = \"09:00\"",
        "[[limits.schedule]]\nfrom = \"08:00\"", "[[limits.schedule]]\nfrom = \"08:00\"\nto = \"24:01\"",
        "[[limits.schedule]]\nfrom = \"08:00\"\nto = \"09:00\"\ndays = [\"monday\"]",
        "[[limits.schedule]]\nfrom = \"08:00\"\nto = \"09:00\"\nup = 7",
        "schedule = [\"mon-fri 08:00-18:00 up=500KiB/s\"]",
        "schedule = [{ from = \"08:00\", to = \"09:00\" }, 5]",
    ])
    func whatIsNoLimitIsRefusedWithItsLine(_ text: String) {
        let error = #expect(throws: ConfigurationError.self) { try read("[limits]\n" + text) }
        #expect(error?.line != nil && error?.message.isEmpty == false)
    }
}
