import ArgumentParser
import ControlAPI
import Phrases

struct DeviceCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "device", abstract: translated("Manage the devices this one shares folders with."),
            subcommands: [
                DeviceListCommand.self, DeviceAddCommand.self, DeviceRenameCommand.self, DeviceRemoveCommand.self,
                DeviceSetCommand.self, DeviceGetCommand.self, DeviceIgnoreCommand.self, DeviceIgnoredCommand.self,
                DeviceBluetoothCommand.self,
            ])
    }
}

struct DeviceListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: translated("List devices and their connections."),
            discussion: translated("Without a running agent, lists the configured devices."))
    }

    @Flag(help: ArgumentHelp(translated("List pending devices: unknown devices that tried to connect.")))
    var pending = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        var rendering = StatusRendering(style: context.style)
        if pending {
            let devices = try await context.agent().call(Endpoints.pending).devices
            if global.json {
                try context.output.print(bytes: try ControlJSON.encode(PendingDeviceList(devices: devices)))
            } else if devices.isEmpty {
                try context.remark(translated("No pending devices."))
            } else {
                for line in rendering.pending(devices) { try context.output.print(line) }
            }
            return
        }
        let (devices, _, isFromAgent) = try await context.known()
        rendering.isFromAgent = isFromAgent
        if !isFromAgent { try context.remark(translated("The agent is not running; showing the configuration.")) }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(DeviceList(devices: devices)))
        } else if devices.isEmpty {
            try context.remark(translated("No devices yet. Add one with `synctrain device add`."))
        } else {
            for line in rendering.devices(devices) { try context.output.print(line) }
        }
    }
}

/// What `device list --pending --json` prints.
struct PendingDeviceList: Codable, Equatable {
    var schema = 1
    var devices: [PendingDevice]
}

struct DeviceAddCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "add", abstract: translated("Add a device by its id."))
    }

    @Argument(help: ArgumentHelp(translated("Device id.")))
    var id: String

    @Option(help: ArgumentHelp(translated("Name for the device; its own name if omitted."), valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            translated(
                "Address, for example 192.168.1.5, nas.local:22001, relay://HOST:PORT/?id=… or dynamic; repeatable."),
            valueName: "address"))
    var address: [String] = []

    @Option(
        help: ArgumentHelp(
            translated("Further setting, as for `synctrain device set`; repeatable."), valueName: "key=value"))
    var set: [String] = []

    @Option(
        help: ArgumentHelp(
            translated("Folder to share with it, with its role if it is not write; repeatable."),
            valueName: "folder[=role]"))
    var share: [String] = []

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let settings = try set.map { try DeviceRestoring.setting($0) }
        let edit = ConfigurationEdit.addDevice(
            DeviceSettings(
                id: id, name: name, addresses: address.isEmpty ? nil : address,
                settings: settings.isEmpty ? nil : settings,
                folders: share.isEmpty ? nil : share.map(DeviceRestoring.share)))
        let canonical = DeviceReference.canonical(id)
        guard let known = try await context.known().devices.first(where: { $0.id == canonical }) else {
            return try await context.perform(edit)
        }
        try await context.edit(edit)
        let style = context.style
        let old = style.name(StatusRendering.name(known.name, known.id))
        let changes = [
            name.map { translated("its name is now \(style.name($0))") },
            address.isEmpty ? nil : translated("its addresses are now \(style.name(address.joined(separator: " ")))"),
        ].compactMap { $0 }
        try context.confirm(
            done: translated("Device \(old) is already known: \(changes.joined(separator: ", "))."))
    }
}

struct DeviceRenameCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rename", abstract: translated("Rename a device on this device."))
    }

    @Argument(help: ArgumentHelp(translated("Device id or name.")))
    var device: String

    @Argument(help: ArgumentHelp(translated("New name.")))
    var name: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(.renameDevice(device, to: name))
    }
}

struct DeviceRemoveCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "remove",
            abstract: translated("Remove a device and stop sharing folders with it. Files are kept."),
            discussion: translated("Asks for confirmation."))
    }

    @Argument(help: ArgumentHelp(translated("Device id or name.")))
    var device: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if !global.yes { try context.confirm(try await Self.question(device, context)) }
        let removed = try await context.removeDevice(device)
        let command = removed.map { "\(context.program) " + DeviceRestoring.command($0) }
        let lines =
            [translated("Removed device \(context.style.name(device)). Files are kept.")]
            + (command.map { [translated("To add it again: \($0)")] } ?? [])
        try Removed(device, command: command).say(lines.joined(separator: "\n"), in: context)
    }

    /// Throws `noSuchDevice` if there is none to ask about.
    static func question(_ device: String, _ context: CommandContext) async throws -> String {
        let (known, id) = (try await context.known(), DeviceReference.canonical(device))
        guard let found = known.devices.first(where: { $0.id == id || $0.name == device }) else {
            throw ControlError.noSuchDevice(device, among: known.devices.map(\.name))
        }
        let short = StatusRendering.short(found.id)
        let name = found.name.isEmpty ? short : "\(EscapedName.escape(found.name)) (\(short))"
        let shared = known.folders.filter { $0.devices.contains(found.id) }.map { EscapedName.escape($0.id) }
        let folders = shared.isEmpty ? "" : translated(", which shares \(shared.joined(separator: ", "))")
        return translated("Remove device \(name)\(folders)? Files are kept.")
    }
}

/// What people type for a device.
enum DeviceReference {
    /// The text in the form that ids are shown in.
    static func canonical(_ text: String) -> String {
        let letters = text.uppercased().filter { $0 != "-" && $0 != " " }
        return stride(from: 0, to: letters.count, by: 7).map { String(letters.dropFirst($0).prefix(7)) }
            .joined(separator: "-")
    }
}

/// What `device remove --json` and `folder remove --json` print.
struct Removed: Codable, Equatable {
    var schema = 1
    /// As it was named.
    var removed: String
    /// Of a device: adds it again as it was.
    var command: String?

    init(_ removed: String, command: String? = nil) { (self.removed, self.command) = (removed, command) }

    func say(_ text: String, in context: CommandContext) throws {
        if context.options.json {
            try context.output.print(bytes: try ControlJSON.encode(self))
        } else {
            try context.output.print(text)
        }
    }
}
