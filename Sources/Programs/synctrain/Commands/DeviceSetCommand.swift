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

    /// What the options say, as settings.
    private var options: [SettingInput] {
        [
            introducer.map { SettingInput(key: "introducer", value: String($0)) },
            skipIntroductionRemovals.map { SettingInput(key: "skip-introduction-removals", value: String($0)) },
            change.allowedNetworks.map { SettingInput(key: "allowed-networks", values: $0) },
            up.map { SettingInput(key: "up", value: String($0)) },
            down.map { SettingInput(key: "down", value: String($0)) },
            connections.map { SettingInput(key: "connections", value: $0 == 0 ? nil : String($0)) },
        ].compactMap { $0 }
    }

    func execute(in context: CommandContext) async throws {
        guard !settings.isEmpty else { return try await context.perform(.setDevice(change)) }
        // With the options in one change: all of it or none.
        let inputs = try await context.inputs(settings, .device, of: device)
        try await context.change(SettingsChange(device: device, settings: options + inputs), of: device)
    }

    private static func rate(_ text: String) throws -> Int64 {
        let size = text.hasSuffix("/s") ? String(text.dropLast(2)) : text
        guard let rate = ByteCountText.parse(size) else {
            throw ValidationError(translated("“\(text)” is not a rate. Use 2MiB/s, 500KB/s, or 0 for no limit."))
        }
        return rate
    }
}
