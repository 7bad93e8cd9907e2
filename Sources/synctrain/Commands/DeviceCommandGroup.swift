import ArgumentParser
import ControlAPI

struct DeviceCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "The devices that this one shares folders with.",
        subcommands: [
            DeviceListCommand.self, DeviceAddCommand.self, DeviceRenameCommand.self, DeviceRemoveCommand.self,
            DeviceBluetoothCommand.self,
        ])
}

struct DeviceListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List devices and how they are linked.",
        discussion: "Without a running agent the configured devices are listed.")

    @Flag(help: "List the devices that knocked without being known.")
    var pending = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let rendering = StatusRendering(style: context.style)
        if pending {
            let devices = try await context.agent().call(Endpoints.pending).devices
            if global.json {
                try context.output.print(bytes: try ControlJSON.encode(PendingDeviceList(devices: devices)))
            } else if devices.isEmpty {
                try context.remark("No unknown device has knocked.")
            } else {
                for line in rendering.pending(devices) { try context.output.print(line) }
            }
            return
        }
        let (devices, _, isFromAgent) = try await context.known()
        if !isFromAgent { try context.remark("No agent runs: this is what is configured.") }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(DeviceList(devices: devices)))
        } else if devices.isEmpty {
            try context.remark("There are no devices. Add one with `synctrain device add`.")
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
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a device by its id; at once in a running agent.")

    @Argument(help: "The device's id.")
    var id: String

    @Option(help: ArgumentHelp("What to call it; what it calls itself if not given.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Where to reach it, tcp://HOST:PORT or dynamic; may be given again.", valueName: "address"))
    var address: [String] = []

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.edit(
            .addDevice(DeviceSettings(id: id, name: name, addresses: address.isEmpty ? nil : address)))
    }
}

struct DeviceRenameCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Change what a device is called here.")

    @Argument(help: "The device's id or name.")
    var device: String

    @Argument(help: "Its new name.")
    var name: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.edit(.renameDevice(device, to: name))
    }
}

struct DeviceRemoveCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a device and share nothing with it any more. Files stay.",
        discussion: "Asks first.")

    @Argument(help: "The device's id or name.")
    var device: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if !global.yes { try context.confirm(try await question(context)) }
        try await context.edit(.removeDevice(device))
        try Removed(device).say("Removed the device \(context.style.name(device)). Files stay.", in: context)
    }

    /// Throws `noSuchDevice` if there is none to ask about.
    private func question(_ context: CommandContext) async throws -> String {
        let known = try await context.known()
        guard let found = known.devices.first(where: { $0.id == id || $0.name == device }) else {
            throw ControlError(
                .noSuchDevice, "No device is called `\(device)`. `synctrain device list` shows those known.",
                path: device)
        }
        let short = StatusRendering.short(found.id)
        let name = found.name.isEmpty ? short : "\(EscapedName.escape(found.name)) (\(short))"
        let shared = known.folders.filter { $0.devices.contains(found.id) }.map { EscapedName.escape($0.id) }
        let folders = shared.isEmpty ? "" : ", which shares \(shared.joined(separator: ", "))"
        return "Remove the device \(name)\(folders)? Files stay."
    }

    /// The argument in the form that ids are shown in.
    private var id: String {
        let letters = device.uppercased().filter { $0 != "-" && $0 != " " }
        return stride(from: 0, to: letters.count, by: 7).map { String(letters.dropFirst($0).prefix(7)) }
            .joined(separator: "-")
    }
}

/// What `device remove --json` and `folder remove --json` print.
struct Removed: Codable, Equatable {
    var schema = 1
    /// As it was named.
    var removed: String

    init(_ removed: String) { self.removed = removed }

    func say(_ text: String, in context: CommandContext) throws {
        if context.options.json {
            try context.output.print(bytes: try ControlJSON.encode(self))
        } else {
            try context.output.print(text)
        }
    }
}
