import ControlAPI
import Phrases

/// How this device is reached, and what was tried to reach others.
struct ReachRendering: Sendable {
    var style: Style

    func lines(_ report: ReachReport) -> [String] {
        var lines = [translated("Announced addresses:")]
        lines += indented(report.announcedAddresses.map(style.name), ifNone: translated("none"))
        lines += section(translated("Discovery servers:"), report.servers.map(server), ifNone: translated("off"))
        lines += section(translated("Relays:"), report.relays.map(relay), ifNone: translated("off"))
        lines += section(
            translated("Routers:"), report.routers.map(style.name), ifNone: translated("not asked for a port"))
        if let proxy = report.proxy { lines += section(translated("Proxy:"), [style.name(proxy)], ifNone: "") }
        for device in report.devices {
            let name = StatusRendering.name(device.name, device.id)
            lines += section(
                "\(style.name(name)):", ways(device), ifNone: translated("not connected; no address to try"))
        }
        return lines
    }

    private func section(_ title: String, _ entries: [String], ifNone none: String) -> [String] {
        ["", title] + indented(entries, ifNone: none)
    }

    private func indented(_ entries: [String], ifNone none: String) -> [String] {
        (entries.isEmpty ? [none] : entries).map { "  " + $0 }
    }

    private func server(_ server: ReachReport.Server) -> String {
        let state =
            if let problem = server.problemPhrase {
                problem.shown
            } else if let seconds = server.announcedSeconds {
                translated("announced \(seconds) s ago")
                    + (server.nextSeconds.map { translated(", again in \($0) s") } ?? "")
            } else {
                server.nextSeconds.map { translated("announcing in \($0) s") } ?? translated("lookups only")
            }
        return "\(style.name(server.url)): \(state)"
    }

    private func relay(_ relay: ReachReport.Relay) -> String {
        let address = style.name(relay.address ?? relay.source)
        guard relay.state == "joined" else {
            return "\(address): \(Word.shown(relay.state))" + (relay.problemPhrase.map { "; \($0.shown)" } ?? "")
        }
        return translated("\(address): joined") + (relay.roundTripMilliseconds.map { translated(", \($0) ms") } ?? "")
    }

    private func ways(_ device: ReachReport.Device) -> [String] {
        connections(device)
            + device.failures.map { failure in
                "\(style.name(failure.address)) (\(failure.sourceText.shown)): \(failure.phrase.shown)"
            }
            + device.untried.map { translated("\(style.name($0.address)): not tried: \($0.phrase)") }
    }

    /// A line for each address that links lead to, in their order.
    private func connections(_ device: ReachReport.Device) -> [String] {
        var counts: [String: Int64] = [:]
        for link in device.links { counts[link, default: 0] += 1 }
        var lines: [String] = []
        for link in device.links {
            guard let count = counts.removeValue(forKey: link) else { continue }
            let number = count > 1 ? ", \(Quantity.connections(count))" : ""
            let rate = device.rates[link].map { translated(", \(Quantity.rate($0)) when busy") } ?? ""
            lines.append(translated("connected: \(style.name(link))\(number)\(rate)"))
        }
        return lines
    }
}
