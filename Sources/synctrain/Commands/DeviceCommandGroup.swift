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
            let devices = try await context.agent().pendingDevices()
            if global.json {
                try context.output.print(bytes: try ControlJSON.encode(PendingDeviceList(devices: devices)))
            } else if devices.isEmpty {
                try context.remark("No unknown device has knocked.")
            } else {
                for line in rendering.pending(devices) { try context.output.print(line) }
            }
            return
        }
        let devices: [DeviceStatus]
        do {
            devices = try await context.agent().status().devices
        } catch let error as ControlError where error.code == .noAgent {
            let configured = try context.configured()
            try context.remark("No agent runs: this is what is configured.")
            devices = configured.devices.map {
                DeviceStatus(id: $0.id, name: $0.name ?? "", isConnected: false, addresses: $0.addresses ?? [])
            }
        }
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
        commandName: "remove", abstract: "Share nothing with a device any more. Files stay.")

    @Argument(help: "The device's id or name.")
    var device: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.edit(.removeDevice(device))
    }
}
