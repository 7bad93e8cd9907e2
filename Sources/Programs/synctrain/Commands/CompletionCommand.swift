import ArgumentParser
import Arithmetic
import ControlAPI
import Phrases

struct CompletionCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "completion",
            abstract: translated("Show how much of a folder this device and the others have."),
            discussion: translated(
                """
                Percentages are by bytes: of what each device wants, and of a complete copy. A device does not want \
                files it has reported as not selected. A Syncthing device reports an ignored file only once it has seen \
                it; until then the file counts as still needed.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders if omitted.")))
    var folder: String?

    @Option(
        help: ArgumentHelp(translated("Device id or name; `this` for this device."), valueName: translated("device")))
    var device: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let answer = try await context.agent().call(
            Endpoints.completion, CompletionQuery(folder: folder, device: device))
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
            return
        }
        let rows = answer.folders.flatMap { folder in
            folder.devices.map { Self.row(folder, $0, context.style) }
        }
        guard !rows.isEmpty else {
            return try context.remark(translated("No folders yet. Add one with `synctrain folder add`."))
        }
        let heading = [
            translated("folder"), translated("device"), translated("of selection"), translated("of full copy"),
            translated("has"),
            translated("still needs"),
        ]
        for line in Table.fitting([heading] + rows, width: context.outputWidth) { try context.output.print(line) }
    }

    static func row(
        _ folder: CompletionAnswer.Folder, _ device: CompletionAnswer.Device, _ style: Style
    ) -> [String] {
        let name = device.name.isEmpty ? StatusRendering.short(device.id) : device.name
        let cells = [style.name(folder.folder), style.name(name) + (device.isThis ? translated(" (this device)") : "")]
        guard device.hasIndex else { return cells + ["-", "-", translated("not reported yet"), "-"] }
        return cells + [
            percent(device.wanted), percent(device.copy),
            "\(Quantity.files(device.held.files)), \(Quantity.size(device.held.bytes))",
            Quantity.need(device.missing),
        ]
    }

    /// `100 %`, `99.9 %`, `0 %`.
    static func percent(_ number: Double) -> String {
        let tenths = Int(nearest: number * 10)
        return tenths % 10 == 0 ? "\(tenths / 10) %" : "\(tenths / 10)\(Translation.current.decimal)\(tenths % 10) %"
    }
}
