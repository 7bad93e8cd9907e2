import ControlAPI

/// How devices find and reach each other.
struct NetworkRendering: Sendable {
    var style: Style

    func lines(_ settings: NetworkSettings) -> [String] {
        Table.lines([
            ["local discovery", word(settings.localDiscovery)],
            [
                "global discovery",
                word(settings.globalDiscovery) + servers(settings.discoveryServers, settings.globalDiscovery),
            ],
            ["relays", word(settings.relays) + servers(settings.relayServers, settings.relays)],
            ["port mapping", word(settings.portMapping)],
            ["connections per device", String(settings.connections)],
            ["proxy", proxy(settings)],
        ])
    }

    private func word(_ isOn: Bool) -> String { isOn ? "on" : "off" }

    private func servers(_ servers: [String], _ isOn: Bool) -> String {
        guard isOn else { return "" }
        guard !servers.isEmpty else { return ", no servers" }
        return ", " + servers.map { $0 == "default" ? "public servers" : style.name($0) }.joined(separator: ", ")
    }

    private func proxy(_ settings: NetworkSettings) -> String {
        let only = settings.proxyOnly ? ", nothing else" : ""
        return switch settings.proxy {
        case nil: "as ALL_PROXY says\(only)"
        case ""?: "none"
        case let proxy?: style.name(proxy) + only
        }
    }
}
