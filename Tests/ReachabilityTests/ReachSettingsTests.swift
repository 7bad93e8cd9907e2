import AgentConfiguration
import PeerLinks
import Testing
import Transport

@testable import Reachability

private func settings(
    _ network: Configuration.Network = .init(), _ environment: [String: String] = [:],
    announcesLocal: Bool = true
) throws -> ReachSettings {
    var configuration = Configuration(
        name: "here", discovery: .init(announcesLocalAddresses: announcesLocal))
    configuration.network = network
    return try ReachSettings(configuration, environment: environment)
}

private let noFallback = ["ALL_PROXY": "socks5://127.0.0.1:9050", "ALL_PROXY_NO_FALLBACK": "1"]

@Suite struct ReachSettingsTests {
    @Test func withoutAProxyEverythingIsDirect() throws {
        let settings = try settings()
        #expect(settings.proxyUse == .none && settings.mapsPorts && settings.announcesLocalAddresses)
    }

    @Test(
        arguments: [
            (.init(proxy: "socks5://127.0.0.1:9050"), [:]), (.init(), ["ALL_PROXY": "http://192.0.2.1:3128"]),
        ] as [(Configuration.Network, [String: String])])
    func aProxyIsTriedFirst(network: Configuration.Network, environment: [String: String]) throws {
        let settings = try settings(network, environment)
        #expect(settings.proxyUse == .first && settings.mapsPorts && settings.announcesLocalAddresses)
    }

    /// However it is said that nothing may be direct, nobody is let in and nobody in the network hears of this device.
    @Test(
        arguments: [
            (.init(proxy: "socks5://127.0.0.1:9050", isProxyOnly: true), [:]), (.init(), noFallback),
            (.init(isProxyOnly: true), ["ALL_PROXY": "socks5://127.0.0.1:9050"]),
            (.init(proxy: "socks5://127.0.0.1:1"), ["ALL_PROXY_NO_FALLBACK": "1"]),
        ] as [(Configuration.Network, [String: String])])
    func nothingButTheProxy(network: Configuration.Network, environment: [String: String]) throws {
        let settings = try settings(network, environment)
        #expect(settings.proxyUse == .only && !settings.mapsPorts && !settings.announcesLocalAddresses)
    }

    @Test func aProxyOnlyWithoutAProxyIsAnErrorOfTheSettings() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try settings(.init(isProxyOnly: true), ["HTTPS_PROXY": "http://192.0.2.1:3128"])
        }
        #expect(error?.code == .invalidValue)
        #expect(throws: ConfigurationError.self) { try settings(.init(), ["ALL_PROXY": "nonsense"]) }
    }

    /// `reach` lists addresses as announced only where a server is told them.
    @Test(arguments: [
        (["https://192.0.2.9/?noannounce"], false), (["https://192.0.2.9/?nolookup"], true),
        (["https://192.0.2.9/?noannounce", "https://192.0.2.8/"], true), (["default"], true), ([], false),
    ])
    func isAnnouncedWhereAServerTakesIt(servers: [String], isAnnounced: Bool) throws {
        let configuration = Configuration(name: "here", discovery: .init(servers: servers))
        #expect(try ReachSettings(configuration, environment: [:]).announces == isAnnounced)
    }

    private func announced(
        _ network: Configuration.Network = .init(), _ environment: [String: String] = [:], announcesLocal: Bool = true,
        listening: String = "tcp://0.0.0.0:22000",
        own: [String] = ["192.168.1.2", "127.0.0.1", "2001:db8::2", "fe80::1"]
    ) throws -> [String] {
        try settings(network, environment, announcesLocal: announcesLocal).announced(
            listening: [LinkAddress(parsing: listening)],
            mapped: [LinkAddress(parsing: "tcp://0.0.0.0:18849"), LinkAddress(parsing: "tcp://11.7.0.10:18849")],
            own: own.compactMap { IPAddress($0) }, relays: ["relay://11.7.0.1:22067/?id=A"])
    }

    @Test func announcesOpenHostsWhereTheServerSeesThem() throws {
        let seen = ["tcp://0.0.0.0:22000", "tcp://0.0.0.0:18849", "tcp://11.7.0.10:18849"]
        let relay = ["relay://11.7.0.1:22067/?id=A"]
        let own = ["tcp://192.168.1.2:22000", "tcp://[2001:db8::2]:22000"]
        #expect(try announced() == seen + own + relay)
        #expect(try announced(announcesLocal: false) == seen + relay)
    }

    /// The server would put the proxy's address in place of the open host (reach.md section 7).
    @Test(
        arguments: [
            (.init(proxy: "socks5://192.0.2.1:1080"), [:]), (.init(), ["HTTPS_PROXY": "http://192.0.2.1:3128"]),
        ] as [(Configuration.Network, [String: String])])
    func announcesNoOpenHostThroughAProxy(network: Configuration.Network, environment: [String: String]) throws {
        let outside = ["tcp://11.7.0.10:18849"], relay = ["relay://11.7.0.1:22067/?id=A"]
        #expect(
            try announced(network, environment)
                == outside + ["tcp://192.168.1.2:22000", "tcp://[2001:db8::2]:22000"] + relay)
        #expect(
            try announced(network, environment, announcesLocal: false)
                == outside + ["tcp://[2001:db8::2]:22000"] + relay)
    }

    @Test func anExceptionFromTheProxyIsSeen() throws {
        let environment = ["ALL_PROXY": "socks5://192.0.2.1:1080", "NO_PROXY": ".syncthing.net"]
        #expect(try announced(.init(), environment).first == "tcp://0.0.0.0:22000")
    }

    @Test func announcesRelaysAloneWhereOnlyTheProxyIsUsed() throws {
        #expect(try announced(.init(), noFallback) == ["relay://11.7.0.1:22067/?id=A"])
    }
}
