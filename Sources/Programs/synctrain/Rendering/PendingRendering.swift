import ControlAPI
import Phrases

/// Devices that want to connect and folders that are offered, each with the command that lets it in.
struct PendingRendering: Sendable {
    var style: Style
    /// How the program is called: with `--home` where that was given.
    var program: String
    /// Those that are known, for their names.
    var known: [DeviceStatus]

    /// So many of each are shown.
    private static let limit = 5

    init(_ style: Style, program: String, known: [DeviceStatus]) {
        (self.style, self.program, self.known) = (style, program, known)
    }

    /// What `status` shows below its heading; empty if nothing waits.
    func lines(_ pending: PendingList) -> [String] {
        var lines = pending.devices.prefix(Self.limit).map(line) + pending.folders.prefix(Self.limit).map(line)
        func more(_ count: Int, _ command: String) {
            guard count > Self.limit else { return }
            lines.append(translated("and \(count - Self.limit) more: `\(program) \(command) list --pending`"))
        }
        more(pending.devices.count, "device")
        more(pending.folders.count, "folder")
        return lines
    }

    func line(_ device: PendingDevice) -> String {
        let who = style.name(StatusRendering.name(device.name, device.id))
        return translated(
            "\(who) at \(style.name(device.address)) wants to connect. Accept it: `\(program) device add \(device.id)`")
    }

    func line(_ folder: PendingFolder) -> String {
        let label = folder.label.isEmpty ? folder.id : folder.label
        // The shell reads `~` only where it is not quoted.
        let path = "~/" + ShellWord.quoted(String(TargetPath.proposal(label: label, id: folder.id).dropFirst(2)))
        let name = known.first { $0.id == folder.device }?.name ?? ""
        return translated(
            "\(style.name(StatusRendering.name(name, folder.device))) offers the folder \(style.name(label)). "
                + "Take it, without its files: "
                + "`\(program) folder add \(style.name(ShellWord.quoted(folder.id))) \(style.name(path))`")
    }
}
