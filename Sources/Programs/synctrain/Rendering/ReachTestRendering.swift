import ControlAPI
import Phrases

/// What other devices found when they tried to connect to this one.
struct ReachTestRendering: Sendable {
    var style: Style

    func lines(_ test: ReachTest) -> [String] {
        var lines: [String] = []
        for device in test.devices {
            let name =
                style.name(StatusRendering.name(device.name, device.id))
                + (device.isLocal ? translated(" (in this network)") : "")
            if let problem = device.problemPhrase {
                lines.append(translated("\(name) tested nothing: \(style.name(translated("\(problem)")))."))
            }
            lines += device.results.map { sentence($0, name) }
        }
        lines.append(translated("Relay: \(style.name(translated("\(test.relay.phrase)")))."))
        return lines + ["", style.name(translated("\(test.advicePhrase)"))]
    }

    private func sentence(_ result: ReachTest.Result, _ name: String) -> String {
        let address = style.name(
            result.address.hasPrefix("tcp://") ? String(result.address.dropFirst(6)) : result.address)
        switch result.outcome {
        case "reached": return translated("\(name) connected to \(address).")
        case "not-tried":
            return translated("\(name) did not try \(address): \(style.name(translated("\(result.phrase)"))).")
        default:
            return translated("\(name) could not connect to \(address): \(style.name(translated("\(result.phrase)"))).")
        }
    }
}
