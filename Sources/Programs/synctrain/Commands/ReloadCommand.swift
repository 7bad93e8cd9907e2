import ArgumentParser
import ControlAPI
import Phrases

struct ReloadCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "reload", abstract: translated("Reload the configuration file."),
            discussion: translated(
                """
                Use this after editing the file. If the file has an error, the line is shown and nothing changes. Lists the \
                changed settings and those that need a restart of the agent. Asks for confirmation if the file no longer lists any devices \
                or any folders.
                """))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let answer: ReloadAnswer
        do {
            answer = try await agent.call(Endpoints.reload, ReloadRequest(isConfirmed: global.yes))
        } catch let error as ControlError where error.code == .confirmationNeeded && !global.yes {
            try context.confirm(error.shown)
            answer = try await agent.call(Endpoints.reload, ReloadRequest(isConfirmed: true))
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            if let changed = answer.changed {
                try context.remark(
                    changed.isEmpty
                        ? translated("Nothing has changed.")
                        : translated("Changed: \(changed.joined(separator: ", "))."))
            }
            if !answer.restart.isEmpty {
                try context.remark(translated("Restart the agent to apply: \(answer.restart.joined(separator: ", "))."))
            }
        }
    }
}
