import ArgumentParser
import ControlAPI

struct PolicyCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "What a metered connection or a low battery holds back.",
        discussion: """
            NetworkManager says whether the connection is metered, UPower whether the machine runs on its battery; \
            [policies] in config.toml says what may go then. Without a word `synctrain policy` shows what holds.
            """,
        subcommands: [PolicyShowCommand.self, PolicyIgnoreCommand.self, PolicyApplyCommand.self],
        defaultSubcommand: PolicyShowCommand.self)
}

struct PolicyShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show what is known of connection and battery, and what holds.")

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        guard let policies = try await context.agent().call(Endpoints.status).policies else {
            throw ControlError(.failed, "the agent that runs knows no policies; start it anew")
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(policies))
        } else {
            for line in PolicyRendering(style: context.style).lines(policies) { try context.output.print(line) }
        }
    }
}

struct PolicyIgnoreCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ignore", abstract: "Let everything go, whatever the connection and the battery are.",
        discussion: """
            Until `synctrain policy apply`, until the time of --for is over, or until the agent ends.
            """)

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Have them hold again after so long: 30m, 2h, 1d.", valueName: "time"),
        transform: PauseCommand.duration)
    var seconds: Int64?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.agent().call(Endpoints.setPolicies, PolicyChange(isIgnored: true, seconds: seconds))
    }
}

struct PolicyApplyCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Have the policies hold again that were set aside.")

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.agent().call(Endpoints.setPolicies, PolicyChange(isIgnored: false))
    }
}
