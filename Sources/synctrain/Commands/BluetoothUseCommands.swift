import AgentConfiguration
import ArgumentParser
import ControlAPI

/// The words of `BluetoothUse`.
enum BluetoothWord: String, ExpressibleByArgument, CaseIterable {
    case all
    case selectedAndOnDemand = "selected-and-on-demand"
    case indexOnly = "index-only"
    case off
}

struct FolderBluetoothCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bluetooth", abstract: "Say what of a folder may go over Bluetooth.",
        discussion: """
            all: the index and every file up to the limit; selected-and-on-demand: the index, selected files and what \
            is fetched by its path; index-only: names and sizes; off: nothing, not even that the folder is shared.
            """)

    @Argument(help: "The folder's id.")
    var folder: String

    @Argument(help: "all, selected-and-on-demand, index-only or off.")
    var use: BluetoothWord?

    @Option(
        help: ArgumentHelp(
            "Larger files wait for a network unless they are fetched by their path; 0: no limit.", valueName: "size"))
    var limit: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard use != nil || limit != nil else {
            throw ValidationError("Say what may go over Bluetooth, or the --limit.")
        }
        guard let limit, ByteCountText.parse(limit) == nil else { return }
        throw ValidationError("“\(limit)” is no size; write it as 10MB, 512KiB or a number of bytes.")
    }

    func execute(in context: CommandContext) async throws {
        try await context.edit(
            .setFolderBluetooth(
                FolderBluetoothChange(
                    folder: folder, use: use?.rawValue, limit: limit.flatMap(ByteCountText.parse))))
    }
}

struct DeviceBluetoothCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bluetooth", abstract: "Say what may go over Bluetooth with a device.",
        discussion: "The words are those of `folder bluetooth`; the stricter of folder and device counts.")

    @Argument(help: "The device's id or name.")
    var device: String

    @Argument(help: "all, selected-and-on-demand, index-only or off.")
    var use: BluetoothWord

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.edit(.setDeviceBluetooth(DeviceBluetoothChange(device: device, use: use.rawValue)))
    }
}
