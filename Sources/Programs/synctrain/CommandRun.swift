import ArgumentParser
import ControlAPI
import Glibc
import Phrases

/// A command that has been parsed and can be run with what the process gives it.
protocol RunnableCommand: ParsableCommand, Sendable {
    var global: GlobalOptions { get }
    /// Whether the command does with the signals of `Interrupts` what it wants; else it is cancelled.
    static var handlesSignals: Bool { get }
    /// What the process exits with after an error.
    static func exitCode(of error: ControlError) -> Int32

    func execute(in context: CommandContext) async throws
}

extension RunnableCommand {
    static var handlesSignals: Bool { false }
    static func exitCode(of error: ControlError) -> Int32 { error.exitCode }
}

/// One run of the command line, from its arguments to its exit code.
enum CommandRun {
    /// How long a command runs before it is asked whether the agent is stopped.
    private static let silence: Duration = .seconds(4)

    /// - Returns: the exit code.
    static func run(arguments: [String], process: ProcessSurroundings) async -> Int32 {
        let translation = SpokenLanguage.translation(process.variables, arguments: arguments)
        return await Translation.$current.withValue(translation) {
            await runTranslated(arguments: arguments, process: process)
        }
    }

    private static func runTranslated(arguments: [String], process: ProcessSurroundings) async -> Int32 {
        let isJSON = arguments.contains("--json")
        var ordered = GlobalOptionOrder.behindCommand(arguments, root: Synctrain.self)
        // Alone on a terminal it is asked how things are; a script gets the help.
        if GlobalOptionOrder.areAll(arguments) {
            let isAnswered = process.terminal.isOutputTTY || isJSON
            ordered = isAnswered ? [OverviewCommand.configuration.commandName ?? ""] + arguments : ["--help"]
        }
        let code = await perform(ordered, isJSON: isJSON, process)
        do {
            try process.output.flush()
        } catch {
            return code == 0 ? outputFailure(error, asJSON: isJSON, process) : code
        }
        return code
    }

    /// - Parameter isJSON: `--json` is among the arguments that were typed, also where no command takes it.
    private static func perform(_ arguments: [String], isJSON: Bool, _ process: ProcessSurroundings) async -> Int32 {
        let command: any ParsableCommand
        do {
            command = try Synctrain.parseAsRoot(arguments)
        } catch {
            return parserSays(error, arguments: arguments, isJSON: isJSON, process)
        }
        guard let runnable = command as? any RunnableCommand else {
            do {
                var command = command
                try command.run()
                return 0
            } catch {
                return parserSays(error, arguments: arguments, isJSON: isJSON, process)
            }
        }
        let context = CommandContext(process: process, options: runnable.global)
        let watch = Task { try await explainSilence(context) }
        defer { watch.cancel() }
        do {
            if process.isInterruptible, !type(of: runnable).handlesSignals {
                try await Interrupts.cancelling { try await runnable.execute(in: context) }
            } else {
                try await runnable.execute(in: context)
            }
            try process.output.flush()
            return 0
        } catch let error as OutputError {
            return outputFailure(error, asJSON: isJSON, process)
        } catch let exit as ExitCode {
            return exit.rawValue
        } catch let interruption as Interrupts.Interruption {
            return interruption.exitCode
        } catch  where Task.isCancelled || error is CancellationError {
            return Interrupts.Interruption(signal: SIGINT).exitCode
        } catch let error as ValidationError {
            return report(ControlError(.invalidRequest, message: error.message), asJSON: runnable.global.json, process)
        } catch {
            let error = explained(error as? ControlError ?? ControlError(.failed, "\(error)"), context)
            // What has been found before the error is an answer too, and comes first.
            try? process.output.flush()
            return report(
                error, asJSON: runnable.global.json, process, code: type(of: runnable).exitCode(of: error))
        }
    }

    /// A stopped agent takes every question and answers none: says so to who has waited for a while.
    private static func explainSilence(_ context: CommandContext) async throws {
        try await Task.sleep(for: silence)
        guard !context.options.json, let process = try context.environment.agentProcess(try context.places()),
            process > 0, context.environment.isStopped(process)
        else { return }
        try context.remark(
            translated(
                "The agent (process \(process)) is stopped, for example by Ctrl-Z. Let it continue with `kill -CONT \(process)`."
            ))
    }

    /// Before `init` no agent can run: then that is the cause.
    private static func explained(_ error: ControlError, _ context: CommandContext) -> ControlError {
        guard error.code == .noAgent else { return error }
        do {
            try context.checkSetUp(.noAgent)
            return error
        } catch {
            return error as? ControlError ?? ControlError(.failed, "\(error)")
        }
    }

    /// Help, versions and completion scripts are answers; the rest is wrong usage.
    private static func parserSays(
        _ error: any Error, arguments: [String], isJSON: Bool, _ process: ProcessSurroundings
    ) -> Int32 {
        let code = Synctrain.exitCode(for: error)
        guard code != .success else {
            let words = GlobalOptionOrder.behindGlobals(arguments[...])
            // The parser answers `help` of a command that there is not with its own help.
            if words.first == "help",
                let unknown = CommandNames.problem(Array(words.dropFirst()), root: Synctrain.self)
            {
                return report(
                    ControlError(.invalidRequest, message: unknown), asJSON: isJSON, process,
                    code: ExitCode.validationFailure.rawValue)
            }
            if arguments.contains("--version"), isJSON {
                return printed { try process.output.print(bytes: try ControlJSON.encode(VersionAnswer())) } ? 0 : 1
            }
            return printed { try process.output.print(ParserText.shown(Synctrain.fullMessage(for: error))) } ? 0 : 1
        }
        let unknown = CommandNames.problem(arguments, root: Synctrain.self)
        if isJSON {
            return report(
                ControlError(.invalidRequest, message: unknown ?? Synctrain.message(for: error)), asJSON: true, process,
                code: code.rawValue)
        }
        if let unknown {
            return report(ControlError(.invalidRequest, message: unknown), asJSON: false, process, code: code.rawValue)
        }
        var text = ParserText.shown(Synctrain.fullMessage(for: error))
        let prefix = translated("Error: ")
        if text.hasPrefix(prefix) { text.removeFirst(prefix.count) }
        _ = printed { try process.errors.print("synctrain: \(text)") }
        return code.rawValue
    }

    private static func report(
        _ error: ControlError, asJSON: Bool, _ process: ProcessSurroundings, code: Int32? = nil
    ) -> Int32 {
        _ = printed {
            if asJSON {
                try process.errors.print(bytes: try ControlJSON.encode(error))
            } else {
                try process.errors.print("synctrain: \(EscapedName.sentence(error.shown))")
            }
        }
        return code ?? error.exitCode
    }

    /// A reader that has seen enough (`ls | head`) ends the command without a word.
    private static func outputFailure(_ error: any Error, asJSON: Bool, _ process: ProcessSurroundings) -> Int32 {
        if let error = error as? OutputError, error.isBrokenPipe { return 0 }
        return report(ControlError(.failed, "\(error)"), asJSON: asJSON, process)
    }

    /// Whether it could be printed. If standard error is closed there is nowhere left to say so.
    private static func printed(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            return false
        }
    }
}
