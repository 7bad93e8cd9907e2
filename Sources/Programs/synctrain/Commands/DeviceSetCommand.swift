import AgentConfiguration
import ArgumentParser
import ControlAPI
import Phrases

struct DeviceSetCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set", abstract: translated("Change a device's settings."),
            discussion: SettingWords.help(
                .device,
                translated(
                    """
                    An introducer's devices are added here for every folder that this device has, too. They are removed when \
                    it no longer lists them, unless --skip-introduction-removals.

                    Example: synctrain device set nas --introducer --up 500KiB/s --allowed-networks 192.168.0.0/16,fe80::/10
                    Example: synctrain device set nas name=attic addresses=dynamic,tcp://192.0.2.7:22000 paused=true
                    """)))
    }

    @Argument(help: ArgumentHelp(translated("Device id or name.")))
    var device: String

    @Argument(
        help: ArgumentHelp(translated("Settings to change; KEY= for the default."), valueName: "key=value"),
        completion: .list(SettingWords.assignments(.device)))
    var settings: [String] = []

    @Flag(inversion: .prefixedNo, help: ArgumentHelp(translated("Add the devices it introduces.")))
    var introducer: Bool?

    @Flag(inversion: .prefixedNo, help: ArgumentHelp(translated("Keep what it introduced when it no longer lists it.")))
    var skipIntroductionRemovals: Bool?

    @Option(
        help: ArgumentHelp(
            translated("Networks where it may connect, separated by commas, ! before one to exclude; \"\" for all."),
            valueName: "networks"))
    var allowedNetworks: String?

    @Option(
        help: ArgumentHelp(translated("Upload limit, for example 2MiB/s; 0 for none."), valueName: "rate"),
        transform: Self.rate)
    var up: Int64?

    @Option(
        help: ArgumentHelp(translated("Download limit, for example 2MiB/s; 0 for none."), valueName: "rate"),
        transform: Self.rate)
    var down: Int64?

    @Option(help: ArgumentHelp(translated("Connections, 1 to 8; 0 for the default."), valueName: "n"))
    var connections: Int64?

    @OptionGroup var global: GlobalOptions

    private var change: DeviceChange {
        DeviceChange(
            device: device, introducer: introducer, skipIntroductionRemovals: skipIntroductionRemovals,
            allowedNetworks: allowedNetworks.map { text in
                text.split(separator: ",").map { $0.filter { $0 != " " } }
            }, up: up, down: down, connections: connections)
    }

    func validate() throws {
        guard !change.isEmpty || !settings.isEmpty else {
            throw ValidationError(translated("Give a setting to change, for example --introducer."))
        }
    }

    func execute(in context: CommandContext) async throws {
        // First: a new name is not the one that was given.
        if !change.isEmpty {
            // What `key=value` has changed is said setting by setting, in the one document that --json allows.
            try await settings.isEmpty ? context.perform(.setDevice(change)) : context.edit(.setDevice(change))
        }
        if !settings.isEmpty {
            let inputs = try await context.inputs(settings, .device, of: device)
            try await context.change(SettingsChange(device: device, settings: inputs), of: device)
        }
    }

    private static func rate(_ text: String) throws -> Int64 {
        let size = text.hasSuffix("/s") ? String(text.dropLast(2)) : text
        guard let rate = ByteCountText.parse(size) else {
            throw ValidationError(translated("“\(text)” is not a rate. Use 2MiB/s, 500KB/s, or 0 for no limit."))
        }
        return rate
    }
}
