import AgentConfiguration
import GlobalDiscovery
import PeerLinks
import Proxies
import Transport
import TransportRelay

/// What of the configuration says how devices are reached beyond the local network, read and checked.
package struct ReachSettings: Sendable {
    package var servers: [DiscoveryServer]
    package var announcesLocalAddresses: Bool
    package var relays: [RelaySource]
    package var usesRelays: Bool
    package var mapsPorts: Bool
    package var proxies: ProxySettings

    /// Relays that are joined at the same time at most; each costs it a connection.
    static let relayLimit = 3

    /// - Parameter environment: the process's, for the proxies that it names.
    /// - Throws: `GlobalDiscoveryError`, `LinkError` or `ConfigurationError` for settings that cannot be used.
    package init(_ configuration: Configuration, environment: [String: String]) throws {
        let (discovery, relays, network) = (configuration.discovery, configuration.relays, configuration.network)
        do {
            proxies = try ProxySettings(
                configuration: network.proxy, isOnly: network.isProxyOnly, source: "proxy", environment: environment)
        } catch {
            throw ConfigurationError(.invalidValue, "\(error.message)")
        }
        servers = discovery.global ? try DiscoveryServer.list(discovery.servers) : []
        announcesLocalAddresses = discovery.announcesLocalAddresses && proxies.allowsDirect
        usesRelays = relays.isEnabled
        self.relays =
            relays.isEnabled
            ? try relays.servers.prefix(Self.relayLimit).map { text in
                text == "default" ? .publicPool : try RelaySource(parsing: text)
            } : []
        mapsPorts = network.mapsPorts && proxies.allowsDirect
    }

    /// What goes through a proxy, whether the configuration says so or the environment.
    package var proxyUse: ProxyUse {
        guard proxies.allowsDirect else { return .only }
        return proxies.streams == nil ? .none : .first
    }

    /// Whether anything is done beyond the local network but to dial addresses of the configuration.
    package var isUsed: Bool { !servers.isEmpty || usesRelays || mapsPorts }

    /// Whether any server is told this device's addresses; with `noannounce` servers are only asked.
    var announces: Bool { servers.contains(where: \.announces) }

    /// The proxy of links, as people may see it.
    var proxyText: String? { proxies.streams.map { "\($0)" } }
}
