import ControlAPI

/// What a change of the configuration has come to, in one line. Pure.
struct EditRendering: Sendable {
    var style: Style

    func line(_ edit: ConfigurationEdit) -> String {
        switch edit {
        case .addDevice(let settings):
            let short = StatusRendering.short(settings.id)
            let name = settings.name.map { "\(style.name($0)) (\(short))" } ?? short
            return "Added device \(name). Add this device there too: `synctrain id` prints its id."
        case .renameDevice(let device, let name): return "Renamed device \(style.name(device)) to \(style.name(name))."
        case .removeDevice(let device): return "Removed device \(style.name(device)). Files are kept."
        case .addFolder(let settings): return added(settings)
        case .setFolderPaused(let folder, let isPaused):
            return "\(isPaused ? "Paused" : "Resumed") folder \(style.name(folder))."
        case .setFolderBluetooth(let change):
            let limit = change.limit.map { $0 == 0 ? "no limit" : "up to \(Quantity.size($0))" }
            let parts = [change.use, limit].compactMap { $0 }.joined(separator: ", ")
            return "Folder \(style.name(change.folder)) over Bluetooth: \(parts)."
        case .setDeviceBluetooth(let change):
            return "Device \(style.name(change.device)) over Bluetooth: \(change.use)."
        case .setDevice(let change): return "Changed the settings of device \(style.name(change.device))."
        case .setFolderRelays(let change):
            return "Folder \(style.name(change.folder)) \(change.relays ? "may" : "may not") use relays."
        case .setIgnored(let change): return ignored(change)
        case .setNetwork: return "Changed the network settings."
        case .setPaused(let change): return paused(change)
        case .setFolderRole(let change):
            return
                "Device \(style.name(change.device)) has the role \(change.role) in folder \(style.name(change.folder))."
        case .removeFolder(let folder): return "Removed folder \(style.name(folder)). Its files are kept."
        }
    }

    private func added(_ settings: FolderSettings) -> String {
        let folder = "Added folder \(style.name(settings.id)) in \(style.name(settings.path))"
        guard settings.mode == "selective" else { return "\(folder): everything in it is synced." }
        let path = ShellWord.quoted("\(settings.id):PATH")
        return "\(folder): nothing is downloaded until you select it, with `synctrain select \(style.name(path))`."
    }

    private func ignored(_ change: IgnoreChange) -> String {
        let from = change.device.map { style.name($0) }
        let what =
            if let folder = change.folder {
                "folder \(style.name(folder))" + (from.map { " from \($0)" } ?? "")
            } else {
                "device \(from ?? "")"
            }
        return change.isIgnored ? "Ignored \(what)." : "No longer ignored: \(what)."
    }

    private func paused(_ change: PauseChange) -> String {
        let verb = change.isPaused ? "Paused" : "Resumed"
        let time = change.seconds.map { " for \(Quantity.duration(seconds: $0))" } ?? ""
        guard !change.isAll else { return "\(verb) all folders and devices\(time)." }
        let parts = [("folder", change.folders), ("device", change.devices)].filter { !$0.1.isEmpty }.map {
            noun, names in
            "\(noun)\(names.count == 1 ? "" : "s") \(names.map { style.name($0) }.joined(separator: ", "))"
        }
        return "\(verb) \(parts.joined(separator: " and "))\(time)."
    }
}

/// What a command that changes something prints with `--json`, where it has nothing else to say.
struct Confirmation: Codable, Equatable {
    var schema = 1
    var message: String
}
