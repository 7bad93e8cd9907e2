import Proxies
import SyncTestKit
import Testing

@Suite struct ProxyAddressTests {
    @Test(
        arguments: [
            ("socks5://192.0.2.1:9050", ProxyAddress.Kind.socks5, "192.0.2.1", 9050, nil),
            ("socks5://192.0.2.1", .socks5, "192.0.2.1", 1080, nil),
            ("socks5h://proxy.example.org:1", .socks5, "proxy.example.org", 1, nil),
            ("SOCKS://proxy", .socks5, "proxy", 1080, nil),
            ("http://proxy:3128/", .http, "proxy", 3128, nil),
            ("https://[2001:db8::1]", .https, "2001:db8::1", 443, nil),
            ("socks5://user:word@[::1]:9050", .socks5, "::1", 9050, credentials("user", "word")),
            ("socks5://user@proxy", .socks5, "proxy", 1080, credentials("user", "")),
            ("http://us%65r:p%40s%3As@proxy", .http, "proxy", 80, credentials("user", "p@s:s")),
            // A password that was pasted as it is.
            ("http://user:p@ss:w@rd@proxy:8080", .http, "proxy", 8080, credentials("user", "p@ss:w@rd")),
            ("http://@proxy", .http, "proxy", 80, nil),
        ] as [(String, ProxyAddress.Kind, String, UInt16, ProxyCredentials?)])
    func readsAddresses(
        text: String, kind: ProxyAddress.Kind, host: String, port: UInt16, credentials: ProxyCredentials?
    ) throws {
        let address = try ProxyAddress(parsing: text, source: "ALL_PROXY")
        #expect(address == ProxyAddress(kind: kind, host: host, port: port, credentials: credentials))
    }

    @Test(arguments: [
        "", "proxy:3128", "socks4://proxy", "ftp://proxy", "socks5://", "socks5://:1080", "socks5://proxy:",
        "http://proxy:0",
        "http://proxy:65536", "http://proxy:+1", "http://proxy:1:2", "http://[::1", "http://[proxy]:1", "http://[::1]1",
        "http://proxy/path", "http://pro xy", "http://pro\r\nxy", "http://:word@proxy", "http://us%4:word@proxy",
        "http://us%xx:word@proxy", "http://" + String(repeating: "a", count: 254),
        "http://"
            + String(repeating: "u", count: 256) + "@proxy", String(repeating: "a", count: 3000),
    ])
    func refusesOtherTexts(text: String) {
        let error = #expect(throws: ProxyError.self) { try ProxyAddress(parsing: text, source: "ALL_PROXY") }
        #expect(error?.code == .invalidSettings)
        #expect(error?.message.contains("ALL_PROXY") == true)
    }

    @Test func assumesAKindWithoutScheme() throws {
        let address = try ProxyAddress(parsing: "proxy:3128", source: "HTTPS_PROXY", assumedKind: .http)
        #expect(address == ProxyAddress(kind: .http, host: "proxy", port: 3128))
    }

    /// However it is printed, and whatever is wrong with the text around it.
    @Test func showsNoPassword() throws {
        let address = try ProxyAddress(parsing: "socks5://joan:hunter2@proxy:1", source: "ALL_PROXY")
        #expect(address.description == "socks5://proxy:1")
        var dumped = ""
        dump(address, to: &dumped)
        let settings = ProxySettings(streams: address, requests: nil, exceptions: .none, fallsBackToDirect: true)
        for text in ["\(address)", String(reflecting: address), dumped, String(reflecting: settings)] {
            #expect(!text.contains("hunter2") && !text.contains("joan"))
        }
        for text in ["joan:hunter2@proxy", "socks5://joan:hunter2", "socks5//joan:hunter2@p", "http://joan:hunter2%@p"]
        {
            let error = #expect(throws: ProxyError.self) { try ProxyAddress(parsing: text, source: "ALL_PROXY") }
            #expect(error.map { !String(reflecting: $0).contains("hunter2") } == true)
        }
    }

    @Test func survivesMutations() {
        var generator = SeededGenerator(seed: 1)
        let samples = ["socks5://user:p%40ss@[2001:db8::1]:9050/", "http://proxy.example.org:3128", "https://u@h"]
        for _ in 0..<20000 {
            let bytes = mutated(Array(generator.pick(samples).utf8), with: &generator)
            guard let address = try? ProxyAddress(parsing: String(decoding: bytes, as: UTF8.self), source: "x") else {
                continue
            }
            // What is accepted can be written and read again.
            #expect((try? ProxyAddress(parsing: address.description, source: "x"))?.host == address.host)
            #expect(address.port > 0)
            #expect(!address.host.utf8.contains { $0 <= 0x20 || $0 == 0x7F })
        }
    }
}

func credentials(_ user: String, _ password: String) -> ProxyCredentials? {
    ProxyCredentials(user: Array(user.utf8), password: Array(password.utf8))
}

/// The bytes with one to three of them changed, removed, repeated or inserted.
func mutated(_ bytes: [UInt8], with generator: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<generator.int(1...3) {
        let index = generator.int(0...bytes.count)
        let byte = generator.isOne(in: 2) ? generator.pick(Array("[]:@/%.\r\n 0aH\u{5}".utf8)) : generator.bytes(1)[0]
        switch generator.int(0...3) {
        case 0 where index < bytes.count: bytes[index] = byte
        case 1 where index < bytes.count: bytes.remove(at: index)
        case 2: bytes.removeSubrange(index...)
        default: bytes.insert(byte, at: index)
        }
    }
    return bytes
}
