import ArgumentParser
import ControlAPI

struct ReachCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reach", abstract: "Show how this device is reached and what was tried to reach others.",
        discussion: """
            Shows the addresses announced to discovery servers, the relay in use, what each router answered when asked to \
            forward the port, and for each device the links in use and the addresses that failed, with the reason.
            """)

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let report = try await context.agent().call(Endpoints.reach)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(report))
        } else {
            for line in ReachRendering(style: context.style).lines(report) { try context.output.print(line) }
        }
    }
}
