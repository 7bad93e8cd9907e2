import Proxies
import SyncTestKit
import Testing

@Suite struct ProxySettingsTests {
    static let socks = ProxyAddress(kind: .socks5, host: "s", port: 1080)
    static let http = ProxyAddress(kind: .http, host: "h", port: 80)

    @Test(
        arguments: [
            ([:], nil, nil, true), (["ALL_PROXY": ""], nil, nil, true),
            (["ALL_PROXY": "socks5://s"], socks, socks, true),
            (["all_proxy": "socks5://s"], socks, socks, true),
            (["ALL_PROXY": "socks5://s", "all_proxy": "http://h"], socks, socks, true),
            (["ALL_PROXY": "", "all_proxy": "http://h"], http, http, true),
            (["HTTPS_PROXY": "h:80"], nil, http, true), (["https_proxy": "http://h"], nil, http, true),
            (["ALL_PROXY": "socks5://s", "HTTPS_PROXY": "http://h"], socks, http, true),
            (["ALL_PROXY": "socks5://s", "ALL_PROXY_NO_FALLBACK": "1"], socks, socks, false),
            (["ALL_PROXY": "socks5://s", "all_proxy_no_fallback": "0"], socks, socks, false),
            (["ALL_PROXY": "socks5://s", "ALL_PROXY_NO_FALLBACK": ""], socks, socks, true),
            (["HTTP_PROXY": "http://h"], nil, nil, true),
        ] as [([String: String], ProxyAddress?, ProxyAddress?, Bool)])
    func readsTheEnvironment(
        environment: [String: String], streams: ProxyAddress?, requests: ProxyAddress?, fallsBack: Bool
    ) throws {
        let settings = try ProxySettings(environment: environment)
        #expect(settings.proxy(for: .streams) == streams)
        #expect(settings.proxy(for: .requests) == requests)
        #expect(settings.fallsBackToDirect == fallsBack)
        #expect(settings.exceptions == .none)
    }

    /// An unusable proxy must not lead to direct connections.
    @Test(arguments: ["ALL_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy"])
    func refusesUnusableVariables(name: String) {
        let error = #expect(throws: ProxyError.self) { try ProxySettings(environment: [name: "socks9://?"]) }
        #expect(error?.code == .invalidSettings)
        #expect(error?.message.contains(name) == true)
    }

    private func settings(
        _ text: String?, isOnly: Bool = false, _ environment: [String: String] = ["ALL_PROXY": "http://h"]
    ) throws -> ProxySettings {
        try ProxySettings(configuration: text, isOnly: isOnly, source: "proxy", environment: environment)
    }

    @Test func readsTheConfiguration() throws {
        #expect(try settings("") == .none)
        #expect(try settings(nil).streams == Self.http)
        #expect(try settings(nil).fallsBackToDirect)
        let own = try settings("socks5://s")
        #expect(own.streams == Self.socks && own.requests == Self.socks && own.fallsBackToDirect)
        #expect(try !settings("socks5://s", ["all_proxy_no_fallback": "1"]).fallsBackToDirect)
        #expect(throws: ProxyError.self) { try settings("proxy") }
    }

    /// Not even what the environment excepts is direct.
    @Test func aProxyOnlyLeavesNothingDirect() throws {
        let environment = ["ALL_PROXY": "http://h", "NO_PROXY": "10.0.0.0/8", "HTTPS_PROXY": "socks5://s"]
        for settings in [try settings("socks5://s", isOnly: true), try settings(nil, isOnly: true, environment)] {
            #expect(!settings.allowsDirect && !settings.fallsBackToDirect && settings.exceptions == .none)
            #expect(ProxySettings.Use.allCases.allSatisfy { settings.proxy(for: $0) != nil })
        }
    }

    /// Otherwise everything would be direct.
    @Test(
        arguments: [
            (nil, [:], "ALL_PROXY is not set"), (nil, ["HTTPS_PROXY": "http://h"], "HTTPS_PROXY"),
            (nil, ["ALL_PROXY": ""], "ALL_PROXY is not set"), ("", ["ALL_PROXY": "http://h"], "it is empty"),
            (nil, ["ALL_PROXY_NO_FALLBACK": "1"], "ALL_PROXY is not set"),
        ] as [(String?, [String: String], String)])
    func aProxyOnlyNeedsAProxy(text: String?, environment: [String: String], cause: String) {
        let error = #expect(throws: ProxyError.self) { try settings(text, isOnly: true, environment) }
        #expect(error?.code == .invalidSettings)
        #expect(error?.message.contains(cause) == true && error?.message.contains("set `proxy`") == true)
    }

    @Test func knowsWhenNothingIsDirect() throws {
        #expect(ProxySettings.none.allowsDirect)
        let all = ["ALL_PROXY": "socks5://s"]
        #expect(try ProxySettings(environment: all).allowsDirect)
        #expect(try !ProxySettings(environment: all.merging(["ALL_PROXY_NO_FALLBACK": "1"]) { $1 }).allowsDirect)
        // Links would still go directly.
        let requestsOnly = ["HTTPS_PROXY": "http://h", "ALL_PROXY_NO_FALLBACK": "1"]
        #expect(try ProxySettings(environment: requestsOnly).allowsDirect)
    }

    @Test(
        arguments: [
            ("*", "anything", 1, true), ("example.org", "example.org", 1, true),
            ("example.org", "EXAMPLE.org.", 1, true),
            ("Example.org.", "a.b.example.org", 1, true), ("example.org", "badexample.org", 1, false),
            (".example.org", "example.org", 1, false), (".example.org", "a.example.org", 1, true),
            ("*.example.org", "a.example.org", 1, true), ("*.example.org", "example.org", 1, false),
            ("example.org:443", "example.org", 443, true), ("example.org:443", "example.org", 80, false),
            ("192.0.2.7", "192.0.2.7", 1, true), ("192.0.2.7", "192.0.2.8", 1, false),
            ("192.0.2.7:5", "192.0.2.7", 5, true),
            ("192.0.2.7:5", "192.0.2.7", 6, false), ("192.168.0.0/16", "192.168.255.1", 1, true),
            ("192.168.0.0/16", "192.169.0.1", 1, false), ("192.168.0.0/17", "192.168.128.1", 1, false),
            ("0.0.0.0/0", "8.8.8.8", 1, true), ("0.0.0.0/0", "2001:db8::1", 1, false), ("0.0.0.0/0", "name", 1, false),
            ("2001:db8::/33", "2001:db8:7fff::1", 1, true), ("2001:db8::/33", "2001:db8:8000::1", 1, false),
            ("2001:db8::1", "2001:0db8:0::1", 1, true), ("[2001:db8::1]:5", "2001:db8::1", 5, true),
            ("::ffff:192.0.2.7", "192.0.2.7", 1, true), ("10.0.0.1/32, b.org  c.org", "c.org", 1, true),
            ("", "a", 1, false),
            ("0.2.7", "192.0.2.7", 1, false), (" , ,", "a", 1, false),
        ] as [(String, String, UInt16, Bool)])
    func matchesExceptions(list: String, host: String, port: UInt16, isException: Bool) throws {
        let exceptions = try ProxyExceptions(parsing: list, source: "NO_PROXY")
        #expect(exceptions.contain(host, port: port) == isException)
    }

    @Test(arguments: [
        "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "name/8", "::/129", "http://a", "a:b", "a:70000", "[::1", "a*b", ".",
        "*.", "a\u{0}b", String(repeating: "a,", count: 1001),
    ])
    func refusesOtherExceptions(list: String) {
        let error = #expect(throws: ProxyError.self) { try ProxyExceptions(parsing: list, source: "NO_PROXY") }
        #expect(error?.code == .invalidSettings)
    }

    @Test func survivesMutationsOfExceptions() {
        var generator = SeededGenerator(seed: 3)
        let samples = ["10.0.0.0/8,.example.org:443 *", "2001:db8::/32,[::1]:5", "*.a.b,1.2.3.4:80"]
        for _ in 0..<20000 {
            let text = String(decoding: mutated(Array(generator.pick(samples).utf8), with: &generator), as: UTF8.self)
            guard let exceptions = try? ProxyExceptions(parsing: text, source: "x") else { continue }
            for host in ["10.1.1.1", "2001:db8::1", "x.example.org", "::1", ""] {
                _ = exceptions.contain(host, port: 80)
            }
        }
    }
}
