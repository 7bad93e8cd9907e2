import ArgumentParser
import ControlAPI
import Phrases

struct ExplainCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "explain", abstract: translated("Explain why files are selected or not."),
            discussion: translated("Shows the line of .stignore, or of a file that it includes, that decides."))
    }

    @Argument(help: ArgumentHelp(translated("Files and directories.")), completion: .file())
    var paths: [String]

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let rendering = ExplanationRendering(style: context.style)
        for path in paths {
            let explained = try await agent.call(Endpoints.explain, context.path(path))
            if global.json {
                try context.output.print(bytes: try ControlJSON.encode(explained))
            } else {
                try context.output.print(rendering.text(explained))
            }
        }
    }
}
