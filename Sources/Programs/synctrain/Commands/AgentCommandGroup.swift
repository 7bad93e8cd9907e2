import ArgumentParser
import ControlAPI
import Phrases

struct AgentCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "agent", abstract: translated("Run, start, stop or install the agent."),
            subcommands: [
                AgentRunCommand.self, AgentStartCommand.self, AgentStopCommand.self, AgentRestartCommand.self,
                AgentInstallCommand.self,
            ])
    }
}

struct AgentRunCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "run", abstract: translated("Run the agent in the foreground until SIGTERM or SIGINT."),
            discussion: translated(
                "Logs to standard error; prints `ready` on standard output once it accepts connections and "
                    + "requests."))
    }
    static let handlesSignals = true

    /// `EX_CONFIG` of sysexits.h: a service manager need not start it again.
    static func exitCode(of error: ControlError) -> Int32 { error.code == .invalidConfiguration ? 78 : error.exitCode }

    @Option(help: ArgumentHelp(translated("Log format, text or json; as configured if omitted."), valueName: "format"))
    var logFormat: CommandEnvironment.RunOptions.LogFormat?

    @Option(
        help: ArgumentHelp(
            translated("Log level: trace, debug, info, notice, warning, error or critical; as configured if omitted."),
            valueName: "level"))
    var logLevel: CommandEnvironment.RunOptions.LogLevel?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try context.checkSetUp(.invalidConfiguration)
        let output = context.output
        try await context.environment.runAgent(
            try context.places(), CommandEnvironment.RunOptions(logFormat: logFormat, logLevel: logLevel)
        ) {
            // An agent whose starter does not listen any more runs all the same.
            try? output.print("ready")
            try? output.flush()
        }
    }
}

struct AgentStartCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "start", abstract: translated("Start the agent in the background and wait until it is ready."))
    }

    @Option(help: ArgumentHelp(translated("Timeout in seconds."), valueName: "seconds"))
    var timeout = 30

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let timeout = Duration.seconds(max(1, min(timeout, 3600)))
        let start = try await AgentProcess.startIfNeeded(in: context, timeout: timeout)
        try context.remark(done: start.text(try context.places()))
        if case .before = start { return }
        // With a device the user knows the way.
        let facts = try await OverviewCommand.facts(context)
        guard facts.status?.devices.isEmpty == true else { return }
        for line in NextStep(facts).lines(context.style, home: try context.places().home) { try context.remark(line) }
    }
}

extension AgentProcess.Start {
    func text(_ places: CommandEnvironment.Places) -> String {
        switch self {
        case .before: translated("The agent is already running.")
        case .inBackground: translated("The agent is running. Log: \(places.logFile)")
        case .asUnit:
            translated("The agent is running as the systemd user unit \(SystemdUnit.name). Log: \(SystemdUnit.log)")
        }
    }
}

struct AgentRestartCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restart",
            abstract: translated("Stop the agent if it runs, start it and wait until it is ready."))
    }

    @Option(help: ArgumentHelp(translated("Timeout in seconds."), valueName: "seconds"))
    var timeout = 30

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let start = try await AgentProcess.restart(in: context, timeout: .seconds(max(1, min(timeout, 3600))))
        try context.remark(done: start.text(try context.places()))
    }
}

struct AgentStopCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stop", abstract: translated("Stop the agent and wait until it has exited."))
    }

    @Option(help: ArgumentHelp(translated("Timeout in seconds."), valueName: "seconds"))
    var timeout = 10

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        guard try await AgentProcess.stop(in: context, timeout: .seconds(max(1, min(timeout, 3600)))) else {
            throw ControlError(
                .noAgent, "The agent is not running, so there is nothing to stop.", path: try context.places().socket)
        }
        try context.remark(done: translated("The agent has stopped."))
    }
}

struct AgentInstallCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "install", abstract: translated("Install the agent as a systemd user unit."))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let unit = try SystemdUnit(try context.places())
        if let packaged = unit.packaged() {
            try context.print(path: packaged)
        } else {
            if try unit.isOtherwiseInstalled() {
                try context.confirm(translated("\(unit.path) exists and differs. Replace it?"))
            }
            try unit.install()
            try context.print(path: unit.path)
        }
        try context.remark(
            translated("Enable it: systemctl --user daemon-reload && systemctl --user enable --now \(SystemdUnit.name)")
        )
    }
}

extension CommandEnvironment.RunOptions.LogFormat: ExpressibleByArgument, CaseIterable {
    static let allCases: [Self] = [.text, .json]
}

extension CommandEnvironment.RunOptions.LogLevel: ExpressibleByArgument, CaseIterable {
    static let allCases: [Self] = [.trace, .debug, .info, .notice, .warning, .error, .critical]
}
