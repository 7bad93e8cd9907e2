import ControlAPI

/// What other devices found when they tried to connect to this one.
struct ReachTestRendering: Sendable {
    var style: Style

    func lines(_ test: ReachTest) -> [String] {
        var lines: [String] = []
        for device in test.devices {
            let name =
                style.name(StatusRendering.name(device.name, device.id)) + (device.isLocal ? " (in this network)" : "")
            if let problem = device.problem { lines.append("\(name) tested nothing: \(style.name(problem)).") }
            lines += device.results.map { "\(name) \(sentence($0))." }
        }
        lines.append("Relay: \(style.name(test.relay.message)).")
        return lines + ["", style.name(test.advice)]
    }

    private func sentence(_ result: ReachTest.Result) -> String {
        let address = style.name(
            result.address.hasPrefix("tcp://") ? String(result.address.dropFirst(6)) : result.address)
        switch result.outcome {
        case "reached": return "connected to \(address)"
        case "not-tried": return "did not try \(address): \(style.name(result.message))"
        default: return "could not connect to \(address): \(style.name(result.message))"
        }
    }
}
