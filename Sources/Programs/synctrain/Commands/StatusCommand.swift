import ArgumentParser
import ControlAPI
import Phrases

struct StatusCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: translated("Show connections, folders and transfers."))
    }

    @Flag(
        name: [.short, .long],
        help: ArgumentHelp(translated("Update every second until interrupted; with --json on every change.")))
    var watch = false

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        var last: (status: AgentStatus, pending: PendingList?)?
        repeat {
            let status = try await agent.call(Endpoints.status)
            let isAnythingPending = (status.pending ?? 0) > 0 && !global.json
            let pending = isAnythingPending ? try await agent.call(Endpoints.pending) : nil
            if status != last?.status || pending != last?.pending {
                try show(status, pending, in: context, isFirst: last == nil)
            }
            last = (status, pending)
            if watch { try await Task.sleep(for: .seconds(1)) }
        } while watch
    }

    private func show(
        _ status: AgentStatus, _ pending: PendingList?, in context: CommandContext, isFirst: Bool
    ) throws {
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(status))
        } else {
            let rendering = StatusRendering(style: context.style, program: context.program)
            let lines = rendering.lines(status, pending: pending)
            // On a terminal the new state takes the place of the old; elsewhere an empty line lies between.
            if watch, context.terminal.hasProgress(variables: context.process.variables), context.terminal.isOutputTTY {
                try context.output.write("\u{1b}[H\u{1b}[2J")
            } else if !isFirst {
                try context.output.print("")
            }
            for line in lines { try context.output.print(line) }
        }
        try context.output.flush()
    }
}
