import AgentConfiguration
import PeerLinks
import Testing

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

    @Test(arguments: [
        (.init(proxy: "socks5://127.0.0.1:9050"), [:]), (.init(), ["ALL_PROXY": "http://192.0.2.1:3128"]),
    ] as [(Configuration.Network, [String: String])])
    func aProxyIsTriedFirst(network: Configuration.Network, environment: [String: String]) throws {
        let settings = try settings(network, environment)
        #expect(settings.proxyUse == .first && settings.mapsPorts && settings.announcesLocalAddresses)
    }

    /// However it is said that nothing may be direct, nobody is let in and nobody in the network hears of this device.
    @Test(arguments: [
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
}
