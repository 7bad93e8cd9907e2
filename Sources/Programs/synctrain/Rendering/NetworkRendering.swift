import ControlAPI
import Phrases

/// How devices find and reach each other.
struct NetworkRendering: Sendable {
    var style: Style

    func lines(_ settings: NetworkSettings) -> [String] {
        Table.lines([
            [translated("local discovery"), word(settings.localDiscovery)],
            [
                translated("global discovery"),
                word(settings.globalDiscovery) + servers(settings.discoveryServers, settings.globalDiscovery),
            ],
            [translated("relays"), word(settings.relays) + servers(settings.relayServers, settings.relays)],
            [translated("port mapping"), word(settings.portMapping)],
            [translated("connections per device"), String(settings.connections)],
            [translated("proxy"), proxy(settings)],
        ])
    }

    private func word(_ isOn: Bool) -> String { isOn ? translated("on") : translated("off") }

    private func servers(_ servers: [String], _ isOn: Bool) -> String {
        guard isOn else { return "" }
        guard !servers.isEmpty else { return translated(", no servers") }
        return ", "
            + servers.map { $0 == "default" ? translated("public servers") : style.name($0) }.joined(separator: ", ")
    }

    private func proxy(_ settings: NetworkSettings) -> String {
        let only = settings.proxyOnly ? translated(", nothing else") : ""
        return switch settings.proxy {
        case nil: translated("from ALL_PROXY\(only)")
        case ""?: translated("none")
        case let proxy?: style.name(proxy) + only
        }
    }
}
