import ArgumentParser
import ControlAPI
import Phrases

struct ResetCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "reset", abstract: translated("Rebuild stored state."), subcommands: [ResetIndexCommand.self])
    }
}

struct ResetIndexCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "index",
            abstract: translated("Rebuild the index from the other devices. Files are not touched."))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders if omitted.")))
    var folder: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        do {
            try await context.agent().call(Endpoints.resetIndex, IndexReset(folder: folder))
        } catch let error as ControlError where error.code == .noAgent {
            try context.checkSetUp(.invalidConfiguration)
            // A corrupt index may be why no agent runs.
            try await context.environment.resetIndex(try context.places(), folder)
        }
        let what =
            folder.map { translated("the index of folder \(context.style.name($0))") }
            ?? translated("the index of all folders")
        try context.confirm(done: translated("Reset \(what). It is rebuilt by a scan and from the other devices."))
    }
}
