import ArgumentParser
import ControlAPI
import Phrases

struct StatCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stat", abstract: translated("Show details of a file or directory."))
    }

    @Argument(help: ArgumentHelp(translated("File or directory.")), completion: .file())
    var path: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let entry = try await agent.call(Endpoints.stat, context.path(path))
        if global.json {
            try EntryPrinter(output: context.output).printJSON(entry)
            return
        }
        let status = try await agent.call(Endpoints.status)
        var names = Dictionary(status.devices.map { ($0.id, $0.name) }) { first, _ in first }
        names[status.device] = status.name
        for line in EntryRendering(style: context.style).facts(entry, deviceNames: names.filter { !$0.value.isEmpty }) {
            try context.output.print(line)
        }
        let notes = try await agent.call(Endpoints.notes, context.path(path))
        for line in NoteCommand.lines(notes, context.style) {
            try context.output.print("\(translated("note", context: "of a file"))  \(line)")
        }
    }
}
