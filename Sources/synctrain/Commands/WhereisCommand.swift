import ArgumentParser
import ControlAPI

struct WhereisCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whereis", abstract: "List the devices that hold a file's newest version.")

    @Argument(help: "The file.", completion: .file())
    var path: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let whereabouts = try await context.agent().whereis(context.path(path))
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(whereabouts))
            return
        }
        guard !whereabouts.holders.isEmpty else {
            throw ControlError(
                .noHolder, "No device holds \(path) in its newest version.", isRetryable: true, path: whereabouts.path)
        }
        let rows = whereabouts.holders.map { holder in
            [
                holder.name.isEmpty ? "-" : context.style.name(holder.name), StatusRendering.short(holder.id),
                holder.isConnected ? "connected" : "last seen \(Timestamp.local(holder.lastSeen))",
            ]
        }
        for line in Table.lines(rows) { try context.output.print(line) }
    }
}
