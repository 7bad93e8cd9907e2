import ArgumentParser
import ControlAPI

struct ResetCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Make anew what the agent has stored.", subcommands: [ResetIndexCommand.self])
}

struct ResetIndexCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Forget the index and get it anew from the devices. Files stay untouched.")

    @Argument(help: "The folder's id; all folders if not given.")
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
    }
}
