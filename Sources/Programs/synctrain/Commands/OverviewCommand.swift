import ArgumentParser
import ControlAPI
import Phrases

/// `synctrain` alone on a terminal: how things are, and what to do next.
struct OverviewCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "overview", abstract: translated("Show the status and the next step."),
            discussion: translated(
                """
                `synctrain` without a command does this on a terminal, and goes on until q or Ctrl-C; with --quiet or --json, \
                without a terminal and without an agent it is shown once.
                """), shouldDisplay: false)
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let facts = try await Self.facts(context)
        if global.json {
            let next = NextStep(facts).lines(
                Style(hasColor: false, escapesNames: false), home: try context.places().home)
            return try context.output.print(bytes: try ControlJSON.encode(Overview(status: facts.status, next: next)))
        }
        guard facts.status != nil, !global.quiet, context.terminal.isLive(variables: context.process.variables) else {
            for line in try Self.lines(facts, in: context) { try context.output.print(line) }
            return
        }
        try await OverviewWatch(context: context).run(from: facts)
    }

    /// The status, if an agent runs, and the next step below it.
    ///
    /// - Parameter height: lines that there is room for; what does not fit of the status is counted. Nil for no end.
    static func lines(
        _ facts: NextStep.Facts, in context: CommandContext, height: Int? = nil
    ) throws -> [String] {
        let (style, program, home) = (context.style, context.program, try context.places().home)
        var lines: [String] = []
        if let status = facts.status {
            // One that waits is the next step, too.
            let isOneOfMany = facts.pending.devices.count + facts.pending.folders.count > 1
            lines = StatusRendering(style: style, program: program)
                .lines(status, pending: isOneOfMany ? facts.pending : nil)
            lines.append("")
        }
        var next = NextStep(facts).lines(style, home: home)
        if facts.status == nil { next.append(translated("All commands: `synctrain --help`")) }
        if let width = style.width, NarrowText.isNeeded(width) {
            next = next.flatMap { NarrowText.wrapped($0, to: width) }
        }
        next.insert(style.heading(translated("Next")), at: 0)
        guard let height, lines.count + next.count > height else { return lines + next }
        // One line counts the rest, and an empty one is before the next step.
        let shown = lines.prefix(max(0, height - next.count - 2))
        let rest = lines.count - 1 - shown.count
        return shown + [translated("and \(rest) more lines; `synctrain status` shows all"), ""] + next
    }

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
        facts.take(try await agent.call(Endpoints.ready, ReadyQuery()).folders)
        return facts
    }
}

extension NextStep.Facts {
    /// What is selected, and what of it is still to come.
    mutating func take(_ ready: [ReadyAnswer.Folder]) {
        selectedFolders = Set(ready.filter { $0.selectedFiles > 0 || $0.selectedBytes > 0 }.map(\.id))
        unreadyFolders = Set(ready.filter { !$0.isReady }.map(\.id))
    }
}

/// What `overview --json` prints.
struct Overview: Encodable {
    var schema = 1
    /// Nil while no agent runs.
    var status: AgentStatus?
    var next: [String]
}
