import ArgumentParser
import ControlAPI

struct ReloadCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Have the running agent read its configuration file anew.",
        discussion: """
            After an edit by hand. What is wrong in the file is said with its line, and nothing changes. Says which settings \
            take effect only when the agent is started again. Asks first if the file names no devices or no folders any more.
            """)

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        let answer: ReloadAnswer
        do {
            answer = try await agent.call(Endpoints.reload, ReloadRequest(isConfirmed: global.yes))
        } catch let error as ControlError where error.code == .confirmationNeeded && !global.yes {
            try context.confirm(error.message)
            answer = try await agent.call(Endpoints.reload, ReloadRequest(isConfirmed: true))
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else if !answer.restart.isEmpty {
            let names = answer.restart.joined(separator: ", ")
            try context.remark(
                "Other than when the agent was started, and in effect when it is started again: \(names).")
        }
    }
}
