import ControlAPI
import Phrases

/// What a change of the configuration has come to, in one line. Pure.
struct EditRendering: Sendable {
    var style: Style

    func line(_ edit: ConfigurationEdit) -> String {
        switch edit {
        case .addDevice(let settings):
            let short = StatusRendering.short(settings.id)
            let name = settings.name.map { "\(style.name($0)) (\(short))" } ?? short
            return translated("Added device \(name). Add this device there too: `synctrain id` prints its id.")
        case .renameDevice(let device, let name):
            return translated("Renamed device \(style.name(device)) to \(style.name(name)).")
        case .removeDevice(let device): return translated("Removed device \(style.name(device)). Files are kept.")
        case .addFolder(let settings): return added(settings)
        case .setFolderPaused(let folder, let isPaused):
            let name = style.name(folder)
            return isPaused ? translated("Paused folder \(name).") : translated("Resumed folder \(name).")
        case .setFolderBluetooth(let change):
            let limit = change.limit.map { $0 == 0 ? translated("no limit") : translated("up to \(Quantity.size($0))") }
            let parts = [change.use.map(Word.shown), limit].compactMap { $0 }.joined(separator: ", ")
            return translated("Folder \(style.name(change.folder)) over Bluetooth: \(parts).")
        case .setDeviceBluetooth(let change):
            return translated("Device \(style.name(change.device)) over Bluetooth: \(Word.shown(change.use)).")
        case .setDevice(let change): return translated("Changed the settings of device \(style.name(change.device)).")
        case .setFolderRelays(let change):
            let name = style.name(change.folder)
            return change.relays
                ? translated("Folder \(name) may use relays.") : translated("Folder \(name) may not use relays.")
        case .setIgnored(let change): return ignored(change)
        case .setNetwork: return translated("Changed the network settings.")
        case .setPaused(let change): return pausedLine(change)
        case .setFolderShared(let change): return shared(change)
        case .setFolderRole(let change):
            return
                translated(
                    "Device \(style.name(change.device)) has the role \(change.role) in folder \(style.name(change.folder))."
                )
        case .removeFolder(let folder): return translated("Removed folder \(style.name(folder)). Its files are kept.")
        }
    }

    private func added(_ settings: FolderSettings) -> String {
        let folder = translated("Added folder \(style.name(settings.id)) in \(style.name(settings.path))")
        guard settings.mode == "selective" else { return translated("\(folder): everything in it is synced.") }
        let path = ShellWord.quoted("\(settings.id):PATH")
        return translated(
            "\(folder): nothing is downloaded until you select it, with `synctrain select \(style.name(path))`.")
    }

    private func shared(_ change: FolderSharingChange) -> String {
        let (folder, device) = (style.name(change.folder), style.name(change.device))
        guard change.isShared else {
            return translated("Folder \(folder) is not shared with \(device). Files are kept on both devices.")
        }
        let id = style.name(ShellWord.quoted(change.folder))
        return translated(
            "Folder \(folder) is shared with \(device). Accept it there: `synctrain folder add \(id) PATH`, or in the GUI."
        )
    }

    private func ignored(_ change: IgnoreChange) -> String {
        let from = change.device.map { style.name($0) }
        let what =
            if let folder = change.folder {
                from.map { translated("folder \(style.name(folder)) from \($0)") }
                    ?? translated("folder \(style.name(folder))")
            } else {
                translated("device \(from ?? "")")
            }
        return change.isIgnored ? translated("Ignored \(what).") : translated("No longer ignored: \(what).")
    }

    private func pausedLine(_ change: PauseChange) -> String {
        let what = paused(change)
        guard change.isPaused else { return translated("Resumed \(what).") }
        guard let seconds = change.seconds else { return translated("Paused \(what).") }
        return translated("Paused \(what) for \(Quantity.duration(seconds: seconds)).")
    }

    private func paused(_ change: PauseChange) -> String {
        guard !change.isAll else { return translated("all folders and devices") }
        func list(_ names: [String]) -> String { names.map { style.name($0) }.joined(separator: ", ") }
        var parts: [String] = []
        let (folders, devices) = (list(change.folders), list(change.devices))
        if !change.folders.isEmpty {
            parts.append(
                change.folders.count == 1 ? translated("folder \(folders)") : translated("folders \(folders)"))
        }
        if !change.devices.isEmpty {
            parts.append(
                change.devices.count == 1 ? translated("device \(devices)") : translated("devices \(devices)"))
        }
        return parts.joined(separator: translated(" and "))
    }
}

/// What a command that changes something prints with `--json`, where it has nothing else to say.
struct PrintedPath: Codable, Equatable {
    var schema = 1
    var path: String
}

struct Confirmation: Codable, Equatable {
    var schema = 1
    var message: String
}
