import Testing

@testable import TOML

/// Each kind of value that TOML 1.0 has, in every spelling.
@Suite struct TOMLValueTests {
    private func value(_ text: String) throws -> TOMLValue? {
        try TOMLDocument(parsing: Array("a = \(text)\n".utf8)).root["a"]?.node.value
    }

    @Test(
        arguments: [
            ("0", 0), ("+0", 0), ("-0", 0), ("7", 7), ("+99", 99), ("-17", -17), ("1_000", 1000), ("5_3_4", 534),
            ("9223372036854775807", .max), ("-9223372036854775808", .min), ("0xDEADBEEF", 0xDEAD_BEEF),
            ("0xdead_beef", 0xDEAD_BEEF), ("0o01234567", 0o1_234_567), ("0b1101_0110", 0b1101_0110), ("0x00", 0),
        ] as [(String, Int64)])
    func integers(text: String, number: Int64) throws { #expect(try value(text) == .integer(number)) }

    @Test(
        arguments: [
            ("1.0", 1), ("+3.1415", 3.1415), ("-0.01", -0.01), ("5e+22", 5e22), ("1e06", 1e6), ("-2E-2", -2e-2),
            ("6.626e-34", 6.626e-34), ("224_617.445_991_228", 224_617.445991228), ("9e1_0", 9e10), ("0.0", 0),
            ("0e0", 0), ("inf", .infinity), ("+inf", .infinity), ("-inf", -.infinity), ("1e999", .infinity),
        ] as [(String, Double)])
    func floats(text: String, number: Double) throws { #expect(try value(text) == .float(number)) }

    @Test(arguments: ["nan", "+nan", "-nan"]) func notANumber(_ text: String) throws {
        guard case .float(let number)? = try value(text) else {
            Issue.record("\(text) is not a float")
            return
        }
        #expect(number.isNaN)
    }

    @Test func theSignOfZeroStays() throws {
        guard case .float(let number)? = try value("-0.0") else {
            Issue.record("-0.0 is not a float")
            return
        }
        #expect(number.sign == .minus)
    }

    @Test func booleans() throws {
        #expect(try value("true") == .boolean(true))
        #expect(try value("false") == .boolean(false))
    }

    @Test(
        arguments: [
            (#""""#, ""), (#""a b""#, "a b"), (#""\b\t\n\f\r\"\\""#, "\u{8}\t\n\u{C}\r\"\\"),
            (#""\u00e9 \U0001F600 é""#, "é 😀 é"), (#""\u0000""#, "\0"), ("\"# here\"", "# here"),
            ("''", ""), (#"'C:\n'"#, #"C:\n"#), (#"'"'"#, "\""), ("\"a\tb\"", "a\tb"),
            ("\"\"\"\"\"\"", ""), ("\"\"\"a\nb\"\"\"", "a\nb"), ("\"\"\"\na\"\"\"", "a"), ("\"\"\"\r\na\"\"\"", "a"),
            ("\"\"\"\n\na\"\"\"", "\na"), ("\"\"\"a\r\nb\"\"\"", "a\r\nb"), ("\"\"\"a \\\n\n  \t b\"\"\"", "a b"),
            ("\"\"\"a\\  \r\n b\"\"\"", "ab"), ("\"\"\"a\"\"b\"\"\"", "a\"\"b"), ("\"\"\"a\"\"\"\"\"", "a\"\""),
            ("\"\"\"\"a\"\"\"\"", "\"a\""), ("\"\"\"\\\"\"\"\\\"\"\"\"", "\"\"\"\""), ("\"\"\"\\u00e9\"\"\"", "é"),
            ("''''''", ""), ("'''\na\\\nb'''", "a\\\nb"), ("'''a''b'''", "a''b"), ("'''a'''''", "a''"),
        ] as [(String, String)])
    func strings(text: String, expected: String) throws { #expect(try value(text) == .string(expected)) }

    private static let day = TOMLDateTime.Day(year: 1979, month: 5, day: 27)
    private static func time(_ nanosecond: Int = 0) -> TOMLDateTime.Time {
        TOMLDateTime.Time(hour: 7, minute: 32, second: 1, nanosecond: nanosecond)
    }

    @Test(
        arguments: [
            ("1979-05-27", .day(day)), ("2024-02-29", .day(.init(year: 2024, month: 2, day: 29))),
            ("2000-02-29", .day(.init(year: 2000, month: 2, day: 29))),
            ("0000-01-01", .day(.init(year: 0, month: 1, day: 1))), ("07:32:01", .time(time())),
            ("07:32:01.5", .time(time(500_000_000))), ("07:32:01.1234567891234", .time(time(123_456_789))),
            ("23:59:60", .time(.init(hour: 23, minute: 59, second: 60, nanosecond: 0))),
            ("1979-05-27T07:32:01", .local(day, time())), ("1979-05-27 07:32:01", .local(day, time())),
            ("1979-05-27t07:32:01", .local(day, time())),
            ("1979-05-27T07:32:01Z", .instant(day, time(), offsetMinutes: 0)),
            ("1979-05-27 07:32:01z", .instant(day, time(), offsetMinutes: 0)),
            ("1979-05-27T07:32:01.000000001+01:30", .instant(day, time(1), offsetMinutes: 90)),
            ("1979-05-27T07:32:01-08:00", .instant(day, time(), offsetMinutes: -480)),
        ] as [(String, TOMLDateTime)])
    func datesAndTimes(text: String, expected: TOMLDateTime) throws { #expect(try value(text) == .dateTime(expected)) }

    @Test(
        arguments: [
            ("[]", []), ("[ ]", []), ("[1,2]", [.integer(1), .integer(2)]), ("[1, 2, ]", [.integer(1), .integer(2)]),
            ("[ # a\n 1 # b\n , # c\n\t'x'\r\n]", [.integer(1), .string("x")]),
            ("[1979-05-27 , 1]", [.dateTime(.day(day)), .integer(1)]),
        ] as [(String, [TOMLValue])])
    func lists(text: String, expected: [TOMLValue]) throws {
        guard case .array(let nodes)? = try value(text) else {
            Issue.record("\(text) is not a list")
            return
        }
        #expect(nodes.map(\.value) == expected)
    }
}
