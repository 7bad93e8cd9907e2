import ArgumentParser
import ControlAPI
import Phrases

struct WhereisCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "whereis",
            abstract: translated("List the devices that have a file or the contents of a directory."),
            discussion: translated(
                """
                `complete`: all of it, in the newest version; `partly`: some files of a directory, or on this device \
                some blocks of a file; `older`, `other`: another version; `not-kept`: known there but not selected; \
                `unknown`: the device has not reported yet. Exits with 5 if no other device has a complete copy.
                """))
    }

    @Argument(help: ArgumentHelp(translated("File or directory.")), completion: .file())
    var path: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let whereabouts = try await context.agent().call(Endpoints.whereis, context.path(path))
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(whereabouts))
        } else {
            try show(whereabouts, in: context)
        }
        guard !whereabouts.holders.isEmpty else {
            throw ControlError(
                .noHolder, "No other device has a complete copy of the newest version of \(path).", isRetryable: true,
                path: whereabouts.path)
        }
    }

    private func show(_ whereabouts: Whereabouts, in context: CommandContext) throws {
        if let devices = whereabouts.devices {
            for line in Table.lines(devices.map { Self.row($0, context.style) }, width: context.outputWidth) {
                try context.output.print(line)
            }
            return
        }
        let rows = whereabouts.holders.map { holder in
            [
                holder.name.isEmpty ? "-" : context.style.name(holder.name), StatusRendering.short(holder.id),
                holder.isConnected
                    ? translated("connected") : translated("last seen \(Timestamp.local(holder.lastSeen))"),
            ]
        }
        for line in Table.lines(rows, width: context.outputWidth) { try context.output.print(line) }
    }

    private static func row(_ device: Whereabouts.Device, _ style: Style) -> [String] {
        var has = Word.shown(device.has.rawValue)
        if let size = device.size { has += ", \(Quantity.size(size)), \(Timestamp.local(device.modified))" }
        if let files = device.files, let bytes = device.bytes, device.has != .complete {
            has += ", \(Quantity.files(files)), \(Quantity.size(bytes))"
        }
        let link =
            device.isThis
            ? translated("this device")
            : device.isConnected ? translated("connected") : translated("last seen \(Timestamp.local(device.lastSeen))")
        return [
            device.name.isEmpty ? "-" : style.name(device.name), StatusRendering.short(device.id), has, link,
        ]
    }
}
