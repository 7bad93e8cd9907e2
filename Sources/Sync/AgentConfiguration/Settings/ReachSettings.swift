import BlockExchange
import Phrases

// How devices find and reach each other.

extension Configuration {
    package struct Discovery: Equatable, Sendable {
        /// Announces this device on the local network and listens for others (UDP 21027).
        package var local: Bool
        /// Whether the discovery servers are told where this device is, and asked for known devices.
        package var global: Bool
        /// URLs of discovery servers; `default` for the public ones of Syncthing. Empty: none, as if `global` were false.
        package var servers: [String]
        /// Whether the servers are told addresses of the local network as well.
        package var announcesLocalAddresses: Bool

        package init(
            local: Bool = true, global: Bool = true, servers: [String] = ["default"],
            announcesLocalAddresses: Bool = true
        ) {
            self.local = local
            self.global = global
            self.servers = servers
            self.announcesLocalAddresses = announcesLocalAddresses
        }

        func problem() -> (key: String, problem: SettingProblem)? {
            Configuration.problem(servers: servers, ServerSyntax.problem(discoveryServer:)).map { ("servers", $0) }
        }
    }

    package struct Relays: Equatable, Sendable {
        /// Whether this device joins a relay, and connects through relays of others, where nothing more direct works.
        package var isEnabled: Bool
        /// `relay://host:port/?id=…`, `dynamic+https://…` for a list of relays, or `default` for the public list. Empty: joins
        /// none, and still connects through those of others.
        package var servers: [String]

        package init(isEnabled: Bool = true, servers: [String] = ["default"]) {
            self.isEnabled = isEnabled
            self.servers = servers
        }

        func problem() -> (key: String, problem: SettingProblem)? {
            Configuration.problem(servers: servers, ServerSyntax.problem(relayServer:)).map { ("servers", $0) }
        }
    }

    package struct Network: Equatable, Sendable {
        /// How many connections a device may be given; BEP allows more, none of which is any faster.
        package static let connectionCounts = 1...8

        /// Whether routers are asked to forward the port (UPnP, NAT-PMP, PCP).
        package var mapsPorts: Bool
        /// Connections per device, where both sides want several.
        package var connections: Int
        /// `socks5://…` or `http://…`, with user and password in it; nil: as the environment's `ALL_PROXY` says; empty: none,
        /// whatever the environment says. Not to be shown: see `ServerURL.withoutPassword`.
        package var proxy: String?
        /// Nothing but through the proxy: no local discovery, no listening on TCP, no port mapping, no direct dials.
        package var isProxyOnly: Bool

        package init(mapsPorts: Bool = true, connections: Int = 3, proxy: String? = nil, isProxyOnly: Bool = false) {
            self.mapsPorts = mapsPorts
            self.connections = connections
            self.proxy = proxy
            self.isProxyOnly = isProxyOnly
        }

        func problem() -> (key: String, problem: SettingProblem)? {
            if let problem = Self.problem(connections: connections) { return ("connections", problem) }
            if let proxy, !proxy.isEmpty, let text = ServerSyntax.problem(proxy: proxy) {
                return ("proxy", SettingProblem(.invalidValue, text))
            }
            guard !isProxyOnly || proxy?.isEmpty != true else {
                return (
                    "proxy-only",
                    SettingProblem(
                        .invalidValue,
                        "`proxy-only` needs a proxy, and `proxy = \"\"` means none; set `proxy`, or remove one of the two"
                    )
                )
            }
            return nil
        }

        static func problem(connections: Int) -> SettingProblem? {
            guard !connectionCounts.contains(connections) else { return nil }
            return SettingProblem(
                .invalidValue,
                "`connections` must be from \(connectionCounts.lowerBound) to \(connectionCounts.upperBound); change it"
            )
        }
    }

    /// Whether servers of the Syncthing project are told of this device.
    package var usesPublicServers: Bool {
        discovery.global && discovery.servers.contains("default")
            || relays.isEnabled && relays.servers.contains("default")
    }

    /// A setting of `[discovery]`, `[relays]` or `[network]` that is on or off.
    package enum NetworkSwitch: CaseIterable, Sendable {
        case localDiscovery, globalDiscovery, relays, portMapping

        package var isOn: WritableKeyPath<Configuration, Bool> {
            switch self {
            case .localDiscovery: \.discovery.local
            case .globalDiscovery: \.discovery.global
            case .relays: \.relays.isEnabled
            case .portMapping: \.network.mapsPorts
            }
        }

        /// Where it stands in the file.
        var place: (section: String, key: String) {
            switch self {
            case .localDiscovery: ("discovery", "local")
            case .globalDiscovery: ("discovery", "global")
            case .relays: ("relays", "enabled")
            case .portMapping: ("network", "port-mapping")
            }
        }
    }

    static let serverLimit = 100

    private static func problem(servers: [String], _ problem: (String) -> Phrase?) -> SettingProblem? {
        for server in servers {
            if let text = problem(server) { return SettingProblem(.invalidValue, text) }
        }
        guard Set(servers).count == servers.count else {
            return SettingProblem(.duplicate, "a server is listed twice; remove one")
        }
        guard servers.count <= serverLimit else {
            return SettingProblem(.invalidValue, "at most \(serverLimit) servers are allowed; remove some")
        }
        return nil
    }
}
