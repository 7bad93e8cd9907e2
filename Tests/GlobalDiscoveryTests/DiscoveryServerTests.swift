import BlockExchange
import Cryptography
import GlobalDiscovery
import SyncTestKit
import Testing

let publicPin = "LYXKCHX-VI3NYZR-ALCJBHF-WMZYSPK-QG6QJA3-MPFYMSO-U56GTUK-NA2MIAW"

@Suite struct DiscoveryServerTests {
    @Test func readsParameters() throws {
        let pinned = try DiscoveryServer(parsing: "https://192.0.2.1:8443/v2/?id=\(publicPin)&noannounce")
        #expect(pinned.verification == .pinned(try DeviceID(parsing: publicPin)))
        #expect(!pinned.announces)
        #expect(pinned.looksUp)
        // Nothing of the query is ever sent.
        #expect(pinned.description == "https://192.0.2.1:8443/v2/")
        #expect(pinned.url.query == nil)

        let plain = try DiscoveryServer(parsing: "https://example.org")
        #expect(plain.verification == .authorities)
        #expect(plain.announces && plain.looksUp)
        #expect(try DiscoveryServer(parsing: "https://example.org/?insecure").verification == .unchecked)
        #expect(try DiscoveryServer(parsing: "https://example.org/?insecure=true").verification == .unchecked)
        #expect(try DiscoveryServer(parsing: "https://example.org/?insecure=false").verification == .authorities)
        #expect(
            try DiscoveryServer(parsing: "https://example.org/?insecure&id=\(publicPin)").verification
                == pinned.verification)
        #expect(try DiscoveryServer(parsing: "https://example.org/?nolookup=1").looksUp == false)
        #expect(try DiscoveryServer(parsing: "http://example.org/?insecure&noannounce").url.scheme == .http)
    }

    @Test(arguments: [
        ("example.org", "https"), ("http://example.org/", "use https"),
        ("http://example.org/?insecure", "use https"), ("http://example.org/?noannounce", "use https"),
        ("http://example.org/?noannounce&id=\(publicPin)", "certificate"),
        ("https://example.org/?noannounce&nolookup", "remove one"), ("https://example.org/?id=ABC", "device id"),
        ("https://example.org/?id=", "device id"), ("https://example.org/?insecur", "insecur"),
        ("https://me:pw@example.org/", "user names"), ("relay://example.org:1/", "https"), ("", "https"),
    ])
    func refusesWithAReason(text: String, reason: String) {
        let error = #expect(throws: GlobalDiscoveryError.self) { _ = try DiscoveryServer(parsing: text) }
        #expect(error?.code == .invalidServer)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func defaultStandsForThePublicServers() throws {
        let servers = try DiscoveryServer.list(["default", "https://example.org/", "default"])
        #expect(servers.count == 4)
        #expect(DiscoveryServer.publicServers.count == 3)
        #expect(
            servers.prefix(3).filter(\.looksUp).map(\.description) == ["https://discovery-lookup.syncthing.net/v2/"])
        #expect(
            servers.prefix(3).filter(\.announces).map(\.url.host) == [
                "discovery-announce-v4.syncthing.net", "discovery-announce-v6.syncthing.net",
            ])
        #expect(servers.prefix(3).allSatisfy { $0.verification == .authorities })
        #expect(try DiscoveryServer.list([]).isEmpty)
        #expect(throws: GlobalDiscoveryError.self) {
            _ = try DiscoveryServer.list((0..<17).map { "https://s\($0).example/" })
        }
    }

    @Test func neverTrapsOnMutations() {
        var random = SeededGenerator(seed: 3)
        let whole = "https://[2001:db8::1]:8443/v2/?id=\(publicPin)&noannounce&insecure=false"
        for _ in 0..<10_000 {
            var bytes = Array(whole.utf8)
            for _ in 0..<random.int(1...3) {
                bytes[random.int(0...bytes.count - 1)] = UInt8(truncatingIfNeeded: random.next())
            }
            let text = String(decoding: bytes.prefix(random.int(0...bytes.count)), as: UTF8.self)
            if let server = try? DiscoveryServer(parsing: text) { #expect(server.url.query == nil) }
        }
    }
}
