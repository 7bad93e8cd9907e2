import BlockExchange
import Testing

@testable import AgentConfiguration

@Suite struct ServerSyntaxTests {
    static let id = testDevice(1).description

    @Test(arguments: [
        "default", "https://disco.example/", "https://disco.example:8443/v2/?id=\(id)&nolookup", "https://[fe80::1]:1",
        "http://192.0.2.9/?insecure&noannounce", "https://x?insecure=false",
    ])
    func takesDiscoveryServers(_ text: String) { #expect(ServerSyntax.problem(discoveryServer: text) == nil) }

    @Test(
        arguments: [
            ("", "not a discovery server"), ("Default", "did you mean `default`?"), ("disco.example", "https://"),
            ("http://192.0.2.9/", "not encrypted"), ("http://192.0.2.9/?insecure", "not encrypted"),
            ("http://192.0.2.9/?insecure=false&noannounce", "not encrypted"), ("https://x/?id=Y", "not a device id"),
            ("https://x/?id", "not a device id"), ("https://u@x/", "not a discovery server"),
            ("https://x/#f", "not a discovery server"), ("https://a b/", "not a discovery server"),
            ("https://x:0/", "not a discovery server"), ("https:///", "not a discovery server"),
            ("tcp://x:1", "not a discovery server"),
            ("https://\(String(repeating: "x", count: 1000))", "not a discovery server"),
        ])
    func refusesDiscoveryServers(_ text: String, _ words: String) {
        #expect(ServerSyntax.problem(discoveryServer: text)?.english.contains(words) == true)
    }

    @Test(arguments: [
        "default", "relay://192.0.2.9:22067", "relay://x:443/?id=\(id)&token=t&pingInterval=1m0s", "relay://[::1]:1/",
        "dynamic+https://relays.example/endpoint", "dynamic+http://x",
    ])
    func takesRelays(_ text: String) { #expect(ServerSyntax.problem(relayServer: text) == nil) }

    @Test(
        arguments: [
            ("", "not a relay"), ("defaults", "did you mean `default`?"), ("http://x/y", "`dynamic+http://x/y`"),
            ("relay://x", "no port"), ("relay://x:0", "no port"), ("relay://0.0.0.0:1", "relay's own address"),
            ("relay://x:1/?id=Y", "not a device id"), ("relay://x:1/y", "not a relay"), ("relay://:1", "not a relay"),
            ("tcp://x:1", "not a relay"), ("dynamic+ftp://x", "not a relay"),
        ])
    func refusesRelays(_ text: String, _ words: String) {
        #expect(ServerSyntax.problem(relayServer: text)?.english.contains(words) == true)
    }

    @Test(arguments: [
        "socks5://127.0.0.1:9050", "socks5://u:p@[::1]:1/", "http://proxy.example:3128", "http://u%40x:p%3Aq@h:1",
        "socks5h://u:p@h:1", "https://u:p@proxy.example:443",
    ])
    func takesProxies(_ text: String) { #expect(ServerSyntax.problem(proxy: text) == nil) }

    /// And none of the messages shows a password.
    @Test(
        arguments: [
            ("127.0.0.1:9050", "did you mean `socks5://127.0.0.1:9050`?"), ("x", "not a proxy"),
            ("none", "`proxy = \"\"`"), ("environment", "leave `proxy` out"),
            ("socks4://u:geheim@h:1", "not a supported proxy"),
            ("socks5://u:geheim@h", "no port"),
            ("socks5://u:geheim@h:1/x", "more than a host"), ("http://u:geheim@h:1?x", "more than a host"),
            ("socks5://u:geheim\(String(repeating: "x", count: 250))@h:1", "255 bytes"),
            ("socks5h://u:geheim\(String(repeating: "x", count: 250))@h:1", "255 bytes"),
            ("socks5://u:geheim@h:x", "not a proxy"), ("u:geheim@h:1", "not a proxy"),
        ])
    func refusesProxies(_ text: String, _ words: String) {
        let message = ServerSyntax.problem(proxy: text)?.english
        #expect(message?.contains(words) == true, "\(message ?? "nothing")")
        #expect(message?.contains("geheim") == false)
    }

    @Test func partsOfAURL() throws {
        let url = try #require(ServerURL("HTTP://u%20s:p%3A@[fe80::1%eth0]:80/a/b?x=1%26&y&x=2"))
        #expect(url.scheme == "http" && url.user == "u s" && url.password == "p:" && url.host == "fe80::1%eth0")
        #expect(url.port == 80 && url.path == "/a/b")
        #expect(url.value("x") == "1&" && url.value("y") == nil && url.value("z") == nil)
        #expect(url.isOn("y") && url.isOn("x") && !url.isOn("z"))
        #expect(ServerURL("https://x?a=%ZZ") == nil && ServerURL("https://@x/") == nil && ServerURL("x") == nil)
    }

    @Test(arguments: [
        ("socks5://u:p@h:1", "socks5://u:…@h:1"), ("socks5://h:1", "socks5://h:1"),
        ("socks5://u@h:1", "socks5://u@h:1"),
        ("http://u:p@q@h:1/x@y", "http://u:…@h:1/x@y"), ("u:p@h:1", "u:…@h:1"), ("x", "x"),
    ])
    func passwordsAreNotShown(_ text: String, _ shown: String) { #expect(ServerURL.withoutPassword(text) == shown) }
}
