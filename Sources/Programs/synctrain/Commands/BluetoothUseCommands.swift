import AgentConfiguration
import ArgumentParser
import ControlAPI
import Phrases

/// The words of `BluetoothUse`.
enum BluetoothWord: String, ExpressibleByArgument, CaseIterable {
    case all
    case selectedAndOnDemand = "selected-and-on-demand"
    case indexOnly = "index-only"
    case off
}

struct FolderBluetoothCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "bluetooth", abstract: translated("Set what a folder may transfer over Bluetooth."),
            discussion: translated(
                """
                all: the index and every file up to the limit; selected-and-on-demand: the index, selected files and \
                files fetched by path; index-only: names and sizes; off: nothing, not even that the folder is shared.

                Example: synctrain folder bluetooth photos index-only
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Argument(help: ArgumentHelp(translated("all, selected-and-on-demand, index-only or off.")))
    var use: BluetoothWord?

    @Option(
        help: ArgumentHelp(
            translated("Largest file to send over Bluetooth without being asked, for example 10MB; 0 for no limit."),
            valueName: "size"))
    var limit: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard use != nil || limit != nil else {
            throw ValidationError(
                translated("Give a mode (all, selected-and-on-demand, index-only, off), --limit, or both."))
        }
        guard let limit, ByteCountText.parse(limit) == nil else { return }
        throw ValidationError(translated("“\(limit)” is not a size. Use 10MB, 512KiB or a number of bytes."))
    }

    func execute(in context: CommandContext) async throws {
        try await context.perform(
            .setFolderBluetooth(
                FolderBluetoothChange(
                    folder: folder, use: use?.rawValue, limit: limit.flatMap(ByteCountText.parse))))
    }
}

struct DeviceBluetoothCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "bluetooth", abstract: translated("Set what may be transferred to a device over Bluetooth."),
            discussion: translated(
                """
                The modes are those of `folder bluetooth`; the stricter of folder and device applies.

                Example: synctrain device bluetooth phone off
                """))
    }

    @Argument(help: ArgumentHelp(translated("Device id or name.")))
    var device: String

    @Argument(help: ArgumentHelp(translated("all, selected-and-on-demand, index-only or off.")))
    var use: BluetoothWord

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(.setDeviceBluetooth(DeviceBluetoothChange(device: device, use: use.rawValue)))
    }
}
