import ArgumentParser
import ControlAPI
import Phrases

/// `synctrain` alone on a terminal: how things are, and what to do next.
struct OverviewCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "overview", abstract: translated("Show the status and the next step."),
            discussion: translated("`synctrain` without a command does this on a terminal."), shouldDisplay: false)
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let facts = try await Self.facts(context)
        let step = NextStep(facts)
        let places = try context.places()
        if global.json {
            try context.output.print(
                bytes: try ControlJSON.encode(Overview(status: facts.status, next: step.lines(Self.plain))))
            return
        }
        if let status = facts.status {
            // One that waits is the next step, too.
            let isOneOfMany = facts.pending.devices.count + facts.pending.folders.count > 1
            let rendering = StatusRendering(style: context.style, program: context.program)
            for line in rendering.lines(status, pending: isOneOfMany ? facts.pending : nil) {
                try context.output.print(line)
            }
            try context.output.print("")
        }
        try context.output.print(context.style.heading(translated("Next")))
        for line in step.lines(context.style, home: places.home) { try context.output.print(line) }
        if facts.status == nil { try context.output.print(translated("All commands: `synctrain --help`")) }
    }

    private static let plain = Style(hasColor: false, escapesNames: false)

    static func facts(_ context: CommandContext) async throws -> NextStep.Facts {
        var facts = NextStep.Facts(isSetUp: try context.environment.isSetUp(try context.places()))
        guard facts.isSetUp else { return facts }
        let agent = try context.agent()
        do {
            facts.status = try await agent.call(Endpoints.status)
        } catch let error as ControlError where error.code == .noAgent {
            return facts
        }
        facts.pending = try await agent.call(Endpoints.pending)
        let ready = try await agent.call(Endpoints.ready, ReadyQuery()).folders
        facts.selectedFolders = Set(ready.filter { $0.selectedFiles > 0 || $0.selectedBytes > 0 }.map(\.id))
        facts.unreadyFolders = Set(ready.filter { !$0.isReady }.map(\.id))
        return facts
    }
}

/// What `overview --json` prints.
struct Overview: Encodable {
    var schema = 1
    /// Nil while no agent runs.
    var status: AgentStatus?
    var next: [String]
}
