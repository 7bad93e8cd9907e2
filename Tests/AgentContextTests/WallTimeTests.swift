import Foundation
import SyncTestKit
import Testing

@testable import AgentContext

@Suite struct WallTimeTests {
    @Test(arguments: [
        (0, 0, "1970-01-01T00:00:00Z"),
        (951_782_400, 0, "2000-02-29T00:00:00Z"),
        (-1, 0, "1969-12-31T23:59:59Z"),
        (1_795_232_178, 500_000_000, "2026-11-21T03:36:18.500Z"),
        (1_795_232_178, 500_000, "2026-11-21T03:36:18.000500Z"),
        (1_795_232_178, 1, "2026-11-21T03:36:18.000000001Z"),
        (Int64.max, 0, "9999-12-31T23:59:59Z"),
        (Int64.min, 0, "0000-01-01T00:00:00Z"),
    ])
    func writesRFC3339(seconds: Int64, nanoseconds: Int32, text: String) {
        #expect(WallTime(seconds: seconds, nanoseconds: nanoseconds).rfc3339 == text)
    }

    @Test(
        arguments: [
            (0, 0, 0), (1_795_232_178, 1, 1_795_232_178_000_000_001), (-1, 0, -1_000_000_000),
            (Int64.max, 0, Int64.max), (Int64.min, 999_999_999, Int64.min),
            (9_223_372_036, 854_775_807, Int64.max), (9_223_372_036, 999_999_999, Int64.max),
        ] as [(Int64, Int32, Int64)])
    func countsNanoseconds(seconds: Int64, nanoseconds: Int32, count: Int64) {
        #expect(WallTime(seconds: seconds, nanoseconds: nanoseconds).unixNanoseconds == count)
    }

    @Test func agreesWithFoundation() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            let seconds = Int64.random(in: -2_000_000_000..<10_000_000_000, using: &random)
            let expected = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
            #expect(WallTime(seconds: seconds).rfc3339 == expected)
        }
    }
}
