import ControlAPI
import Phrases

/// Findings about other devices: every way that was tried, what came of it, and what would help. Pure.
extension AgentFacts {
    /// The oldest Syncthing that is known to work.
    static let oldestSyncthing = (1, 19)

    var aboutDevices: [DoctorFinding] {
        guard !status.devices.isEmpty else {
            return [
                DoctorFinding(
                    .devices, "devices", .note, Phrase("No other device is known."),
                    why: Phrase("There is nothing to sync with."),
                    remedy: Phrase("Pair with another device, or add one by its id."), command: "\(program) pair")
            ]
        }
        return status.devices.flatMap { device in [connection(device)] + version(device) }
    }

    private func connection(_ device: DeviceStatus) -> DoctorFinding {
        let name = name(device.id)
        let reference = ShellWord.quoted(device.name.isEmpty ? device.id : device.name)
        let ways = reach.devices.first { $0.id == device.id }
        if device.isPaused {
            return DoctorFinding(
                .devices, "connection", .note, subject: device.id, Phrase("\(name) is paused."),
                why: Phrase("Nothing is exchanged with it."), remedy: Phrase("Resume it."),
                command: "\(program) resume --device \(reference)")
        }
        if device.isConnected {
            let links = ways?.links ?? []
            return DoctorFinding(
                .devices, "connection", .ok, subject: device.id,
                links.isEmpty && device.transport == nil
                    ? Phrase("\(name) is connected.")
                    : Phrase(
                        "\(name) is connected (\(links.isEmpty ? device.transport ?? "" : links.joined(separator: ", ")))."
                    ),
                details: tried(ways))
        }
        let details = tried(ways)
        let command =
            details.isEmpty && device.lastError == nil
            ? "\(program) device add \(device.id) --address tcp://HOST:PORT" : "\(program) reach"
        return DoctorFinding(
            .devices, "connection", .warning, subject: device.id,
            disconnected(device),
            why: Phrase("Nothing is exchanged with it."),
            remedy: remedy(device, isUntried: details.isEmpty), command: command, details: details)
    }

    private func disconnected(_ device: DeviceStatus) -> Phrase {
        let name = name(device.id)
        switch (device.lastSeen, device.lastErrorPhrase?.ended) {
        case (nil, nil): return Phrase("\(name) has never connected.")
        case (nil, let cause?): return Phrase("\(name) has never connected: \(cause)")
        case (_, nil): return Phrase("\(name) is not connected.")
        case (_, let cause?): return Phrase("\(name) is not connected: \(cause)")
        }
    }

    private func remedy(_ device: DeviceStatus, isUntried: Bool) -> Phrase {
        let name = name(device.id)
        if device.lastSeen == nil {
            let own = status.device
            return isUntried
                ? Phrase(
                    "Switch \(name) on and accept this device there: \(own). Not found yet: if it stays so, give its address."
                )
                : Phrase("Switch \(name) on and accept this device there: \(own).")
        }
        return isUntried
            ? Phrase("Switch \(name) on, or give its address.")
            : Phrase("Switch \(name) on; if it is on, correct what the addresses say.")
    }

    /// A line for each address.
    private func tried(_ ways: ReachReport.Device?) -> [Phrase] {
        guard let ways else { return [] }
        return ways.failures.map { "\($0.address) (\($0.sourceText)): \($0.phrase)" }
            + ways.untried.map { Phrase("\($0.address): not tried: \($0.phrase)") }
    }

    private func version(_ device: DeviceStatus) -> [DoctorFinding] {
        guard let client = device.client, let version = Self.syncthingVersion(client),
            version < Self.oldestSyncthing
        else { return [] }
        let oldest = "\(Self.oldestSyncthing.0).\(Self.oldestSyncthing.1)"
        return [
            DoctorFinding(
                .devices, "version", .warning, subject: device.id, Phrase("\(name(device.id)) runs \(client)."),
                why: Phrase("Versions before \(oldest) are not known to work."),
                remedy: Phrase("Update Syncthing there to \(oldest) or later."))
        ]
    }

    /// Of `syncthing v1.19.2-ds1`; nil for another program.
    static func syncthingVersion(_ client: String) -> (Int, Int)? {
        let words = client.split(separator: " ")
        guard words.count > 1, words[0] == "syncthing", words[1].hasPrefix("v") else { return nil }
        let parts = words[1].dropFirst().split(separator: ".", maxSplits: 2)
        guard parts.count > 1, let major = Int(parts[0]), let minor = Int(parts[1].prefix(while: \.isNumber)) else {
            return nil
        }
        return (major, minor)
    }

    // MARK: acceptance here

    var aboutPending: [DoctorFinding] {
        pending.devices.map { device in
            let name = device.name.isEmpty ? device.id : "\(device.name) (\(device.id))"
            return DoctorFinding(
                .devices, "pending-device", .note, subject: device.id, Phrase("\(name) wants to connect."),
                why: Phrase("It stays disconnected until it is added here."),
                remedy: Phrase("Add it if it is one of yours; otherwise ignore it."),
                command: "\(program) device add \(device.id)"
                    + (device.name.isEmpty ? "" : " --name \(ShellWord.quoted(device.name))"))
        }
            + pending.folders.map { folder in
                let label = folder.label.isEmpty ? folder.id : folder.label
                return DoctorFinding(
                    .folders, "pending-folder", .note, subject: folder.id,
                    Phrase("\(name(folder.device)) offers the folder \(label)."),
                    why: Phrase("It is not synced until it is added here."),
                    remedy: Phrase("Add it with a directory of your choice."),
                    command: "\(program) folder add \(ShellWord.quoted(folder.id)) DIRECTORY --device \(folder.device)")
            }
    }
}
