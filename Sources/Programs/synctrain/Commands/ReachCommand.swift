import ArgumentParser
import ControlAPI
import Phrases

struct ReachCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "reach",
            abstract: translated("Show how this device is reached and what was tried to reach others."),
            discussion: translated(
                """
                Shows the addresses announced to discovery servers, the relay in use, what each router answered when asked to \
                forward the port, and for each device the links in use and the addresses that failed, with the reason.

                With --test, up to three connected synctrain devices try to connect to this one, those in other networks first, and \
                report what came of each address.
                """))
    }

    @Flag(help: ArgumentHelp(translated("Ask connected devices to connect to this one.")))
    var test = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if test { return try await runTest(in: context) }
        let report = try await context.agent().call(Endpoints.reach)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(report))
        } else {
            for line in ReachRendering(style: context.style).lines(report) { try context.output.print(line) }
        }
    }

    private func runTest(in context: CommandContext) async throws {
        let report = try await context.agent().call(Endpoints.testReach)
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(report)) }
        for line in ReachTestRendering(style: context.style).lines(report) { try context.output.print(line) }
    }
}
