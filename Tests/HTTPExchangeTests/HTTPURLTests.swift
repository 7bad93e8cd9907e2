import HTTPExchange
import SyncTestKit
import Testing

@Suite struct HTTPURLTests {
    @Test(
        arguments: [
            ("https://example.org", "example.org", 443, "/", nil, "https://example.org/"),
            ("HTTPS://example.org:8443/v2/", "example.org", 8443, "/v2/", nil, "https://example.org:8443/v2/"),
            ("http://192.0.2.1:80?a=b#c", "192.0.2.1", 80, "/", "a=b", "http://192.0.2.1/?a=b"),
            ("https://[2001:db8::1]:8443/x?", "2001:db8::1", 8443, "/x", "", "https://[2001:db8::1]:8443/x?"),
            ("https://[2001:db8::1]/x?y?z", "2001:db8::1", 443, "/x", "y?z", "https://[2001:db8::1]/x?y?z"),
        ] as [(String, String, UInt16, String, String?, String)])
    func readsURLs(text: String, host: String, port: UInt16, path: String, query: String?, whole: String) throws {
        let url = try HTTPURL(parsing: text)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.path == path)
        #expect(url.query == query)
        #expect(url.description == whole)
        #expect(try HTTPURL(parsing: whole) == url)
    }

    @Test(arguments: [
        "", "example.org", "ftp://example.org/", "https://", "https:///x", "https://a b/", "https://ü.example/",
        "https://user:secret@example.org/", "https://example.org:0/", "https://example.org:65536/",
        "https://example.org:/", "https://example.org:+1/", "https://2001:db8::1/", "https://[2001:db8::1/",
        "https://[example]/", "https://example.org/\r\nX: y", "https://" + String(repeating: "a", count: 2100),
        "https://" + String(repeating: "a", count: 254) + "/", "https://[::1]x/",
    ])
    func refusesWhatIsNone(text: String) {
        let error = #expect(throws: HTTPExchangeError.self) { _ = try HTTPURL(parsing: text) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.utf8.allSatisfy { $0 >= 0x20 } == true)
    }

    @Test func neverTrapsOnMutations() {
        var random = SeededGenerator(seed: 16)
        let seeds = ["https://[2001:db8::1]:8443/v2/?id=A&insecure#x", "http://example.org:80/a?b"]
        for _ in 0..<20_000 {
            var bytes = Array(random.pick(seeds).utf8)
            for _ in 0..<random.int(1...4) where !bytes.isEmpty {
                let index = random.int(0...bytes.count - 1)
                switch random.int(0...2) {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: index)
                default: bytes.insert(random.pick(Array("[]:/?#@%".utf8)), at: index)
                }
            }
            guard let url = try? HTTPURL(parsing: String(decoding: bytes, as: UTF8.self)) else { continue }
            #expect((try? HTTPURL(parsing: url.description)) == url)
        }
    }
}

@Suite struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2028 23:59:59 GMT", 1_835_481_599), ("Mon, 23 Nov 2026 00:00:00 GMT", 1_795_392_000),
    ])
    func readsDates(text: String, seconds: Int64) { #expect(HTTPDate(parsing: text)?.secondsSince1970 == seconds) }

    @Test(arguments: [
        "", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nvo 1994 08:49:37 GMT", "Sun, 06 Nov 19944 08:49:37 GMT", "Sun, 06 Nov 1994 8:49 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:99999999999 GMT",
    ])
    func refusesWhatIsNone(text: String) { #expect(HTTPDate(parsing: text) == nil) }

    @Test(arguments: [
        ("2026-11-22T15:15:00Z", 1_795_360_500), ("2026-11-22T15:15:00.2Z", 1_795_360_500),
        ("2026-11-22T15:15:00.241597371Z", 1_795_360_500), ("2026-11-22t17:15:00+02:00", 1_795_360_500),
        ("2026-11-22T14:45:00.123-00:30", 1_795_360_500),
    ])
    func readsInternetDates(text: String, seconds: Int64) {
        #expect(InternetDate(parsing: text)?.secondsSince1970 == seconds)
    }

    @Test(arguments: [
        "", "2026-11-22", "2026-11-22T15:15:00", "2026-11-22T15:15:00.Z", "2026-11-22T15:15:00.1234567890Z",
        "2026-13-22T15:15:00Z", "2026-11-22T15:15:00+2:00", "0001-01-01T00:00:00Z", "2026-11-22T15:15:00+99:00",
    ])
    func refusesOtherInternetDates(text: String) { #expect(InternetDate(parsing: text) == nil) }

    @Test(
        arguments: [
            ("120", nil, 120), (" 7 ", nil, 7), ("0", nil, 0), ("99999999999999999", nil, 3_155_760_000),
            ("18446744073709551616", nil, nil), ("-5", nil, nil), ("1.5", nil, nil), ("soon", nil, nil), ("", nil, nil),
            ("1 2", nil, nil), ("Sun, 06 Nov 1994 08:49:37 GMT", nil, nil),
            ("Sun, 06 Nov 1994 08:51:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 120),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:51:37 GMT", 0),
        ] as [(String, String?, Int64?)])
    func readsRetryAfter(value: String, date: String?, seconds: Int64?) {
        var answer = HTTPAnswer(status: 404, fields: [HTTPField("RETRY-After", value)])
        if let date { answer.fields.append(HTTPField("date", date)) }
        #expect(answer.retryAfter == seconds.map { .seconds($0) })
    }
}
