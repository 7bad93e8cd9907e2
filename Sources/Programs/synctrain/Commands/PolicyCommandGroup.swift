import ArgumentParser
import ControlAPI
import Phrases

struct PolicyCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "policy",
            abstract: translated("Show or suspend the policies for metered connections and low battery."),
            discussion: translated(
                """
                NetworkManager reports whether the connection is metered, UPower whether the machine runs on battery; \
                [policies] in config.toml sets what may be transferred then. `synctrain policy` alone shows what applies \
                now.
                """),
            subcommands: [PolicyShowCommand.self, PolicyIgnoreCommand.self, PolicyApplyCommand.self],
            defaultSubcommand: PolicyShowCommand.self)
    }
}

struct PolicyShowCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show", abstract: translated("Show connection, battery and the policies in effect."))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        guard let policies = try await context.agent().call(Endpoints.status).policies else {
            throw ControlError(.failed, "the running agent does not support policies; restart it")
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(policies))
        } else {
            for line in PolicyRendering(style: context.style).lines(policies) { try context.output.print(line) }
        }
    }
}

struct PolicyIgnoreCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ignore", abstract: translated("Suspend all policies."),
            discussion: translated(
                """
                Lasts until `synctrain policy apply`, until the time given by --for has passed, or until the agent stops.
                """))
    }

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(translated("Duration: 30m, 2h or 1d."), valueName: "time"),
        transform: PauseCommand.duration)
    var seconds: Int64?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.agent().call(Endpoints.setPolicies, PolicyChange(isIgnored: true, seconds: seconds))
        try context.confirm(
            done: seconds.map { translated("Policies are suspended for \(Quantity.duration(seconds: $0)).") }
                ?? translated("Policies are suspended until `synctrain policy apply`."))
    }
}

struct PolicyApplyCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "apply", abstract: translated("Re-enable suspended policies."))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.agent().call(Endpoints.setPolicies, PolicyChange(isIgnored: false))
        try context.confirm(done: translated("Policies apply again."))
    }
}
