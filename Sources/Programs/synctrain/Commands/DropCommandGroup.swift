import ArgumentParser
import ControlAPI
import Phrases

struct DropCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "drop", abstract: translated("Send files to a nearby or paired device, or receive them."),
            discussion: translated(
                """
                Files for a paired device use any available link. Files for other devices, including phones and Macs, \
                use GhostDrop over Bluetooth: both devices show six digits, and both users confirm that they match. For \
                devices that you use often, prefer `synctrain pair`: GhostDrop's digits do not stop an attacker between \
                the two devices who has a fast computer.
                """),
            subcommands: [DropSendCommand.self, DropReceiveCommand.self])
    }
}

struct DropSendCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "send", abstract: translated("Send files, one at a time."),
            discussion: translated(
                """
                Without --to it lists the devices to choose from. The other device must run `synctrain drop receive` or \
                a GhostDrop app. An interrupted transfer resumes when the same file is sent again.

                --yes does not confirm the digits. A script passes the digits shown by the other device with \
                --expect-sas, or writes them to standard input, one line per file, with --expect-sas -. With --json each \
                event is a line on standard output.
                """))
    }

    @Argument(help: ArgumentHelp(translated("Files to send."), valueName: "file"), completion: .file())
    var files: [String]

    @Option(
        help: ArgumentHelp(
            translated("Name or id of a paired device, name of a nearby device, or ble://AA:BB:CC:DD:EE:FF."),
            valueName: "name")
    )
    var to: String?

    @Option(
        name: .customLong("expect-sas"),
        help: ArgumentHelp(
            translated("Digits shown by the other device; - to read them from standard input."), valueName: "digits")
    )
    var expected: String?

    @Option(
        help: ArgumentHelp(
            translated("Timeout for finding the device or a lost link, 1 to 3600 seconds."), valueName: "seconds")
    )
    var timeout = 120

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        try DropJudge.validate(expected)
        guard expected == nil || expected == "-" || files.count == 1 else {
            throw ValidationError(
                translated("Each file has its own digits: send one file with --expect-sas, or use --expect-sas -."))
        }
        guard (1...DropSendRequest.longestWait).contains(timeout) else {
            throw ValidationError(translated("--timeout must be between 1 and \(DropSendRequest.longestWait) seconds."))
        }
    }

    func execute(in context: CommandContext) async throws {
        let request = DropSendRequest(files: files.map { context.absolute($0) }, target: to, seconds: timeout)
        let judge = DropJudge.judge(expected, context.terminal)
        if global.yes, judge == .person {
            try context.remark(translated("--yes does not confirm a code: compare it yourself."))
        }
        let dialogue = DropDialogue(
            judge: judge, acceptsPaired: false,
            isLarge: context.terminal.isErrorTTY && context.terminal.width >= LargeDigits.width)
        var run = DropRun(context: context, dialogue: dialogue)
        let agent = try context.agent()
        try await run.run(agent) { emit in try await agent.call(Endpoints.dropSend, request, emit: emit) }
    }
}

struct DropReceiveCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "receive", abstract: translated("Receive files while this command runs, asking about each."),
            discussion: translated(
                """
                Ends on Ctrl-C, after --count files, or when nothing has been sent for --timeout seconds. An existing \
                file is never replaced: the new one gets a number after its name. Partial files stay in the directory as \
                .syncthing.drop-….tmp until they are sent again.

                --yes accepts files from paired devices only; it does not confirm digits. --expect-sas accepts a file \
                from the device that shows these digits.
                """))
    }

    @Option(
        name: .customLong("dir"),
        help: ArgumentHelp(translated("Destination directory; the current directory if omitted."), valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(help: ArgumentHelp(translated("Number of files to receive."), valueName: "number"))
    var count: Int?

    @Option(
        name: .customLong("expect-sas"),
        help: ArgumentHelp(
            translated("Digits shown by the other device; - to read them from standard input."), valueName: "digits")
    )
    var expected: String?

    @Option(help: ArgumentHelp(translated("Timeout without any transfer, 1 to 3600 seconds."), valueName: "seconds"))
    var timeout: Int?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        try DropJudge.validate(expected)
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError(translated("--count must be at least 1.")) }
        guard timeout.map((1...DropSendRequest.longestWait).contains) ?? true else {
            throw ValidationError(translated("--timeout must be between 1 and \(DropSendRequest.longestWait) seconds."))
        }
    }

    func execute(in context: CommandContext) async throws {
        try context.checkSetUp(.noAgent)
        let judge = DropJudge.judge(expected, context.terminal)
        guard judge != .nobody || global.yes else {
            throw ControlError(
                .confirmationNeeded,
                "Receiving needs confirmation: run this in a terminal, accept files from paired devices with "
                    + "--yes, or give the digits that the other device shows with --expect-sas.")
        }
        let place = directory.map { context.absolute($0) } ?? context.process.workingDirectory
        let request = DropReceiveRequest(directory: place, count: count, seconds: timeout)
        let dialogue = DropDialogue(
            judge: judge, acceptsPaired: global.yes,
            isLarge: context.terminal.isErrorTTY && context.terminal.width >= LargeDigits.width)
        var run = DropRun(context: context, dialogue: dialogue)
        let agent = try context.agent()
        try await run.run(agent) { emit in try await agent.call(Endpoints.dropReceive, request, emit: emit) }
    }
}

private enum DropJudge {
    static func validate(_ expected: String?) throws {
        if let expected, expected != "-", PairRequest.code(parsing: expected) == nil {
            throw ValidationError(translated("--expect-sas must be six digits, or - to read them from standard input."))
        }
    }

    static func judge(_ expected: String?, _ terminal: Terminal) -> DropDialogue.Judge {
        if let expected { return expected == "-" ? .input : .expected(expected) }
        return terminal.isInputTTY && terminal.isErrorTTY ? .person : .nobody
    }
}

/// The command while it runs: carries what the agent and the user say to the dialogue, and does what that says.
struct DropRun {
    let context: CommandContext
    var dialogue: DropDialogue
    private let line: ProgressLine

    init(context: CommandContext, dialogue: DropDialogue) {
        self.context = context
        self.dialogue = dialogue
        line = ProgressLine(
            errors: context.process.errors,
            isShown: context.terminal.hasProgress(variables: context.process.variables) && !context.options.quiet
                && !context.options.json, width: context.terminal.width)
    }

    mutating func run(
        _ agent: any AgentControl, _ request: @escaping @Sendable (Conversation<DropNotice>.Emit) async throws -> Void
    ) async throws {
        let conversation = Conversation<DropNotice>(
            context: context, readsInput: dialogue.judge == .person || dialogue.judge == .input)
        do {
            try await conversation.run(request) { utterance in
                for action in dialogue.take(utterance) {
                    if let error = try await perform(action, agent) { return .fail(error) }
                }
                return .goOn
            }
        } catch {
            try line.clear()
            throw error
        }
        try line.clear()
    }

    /// Gives how the command ends, if the action says so.
    private func perform(_ action: DropDialogue.Action, _ agent: any AgentControl) async throws -> ControlError? {
        switch action {
        case .progress(let file, let done, let total, let rate, let peer):
            try line.show(path: file, done: done, total: total, bytesPerSecond: rate, peer: peer)
            return nil
        case .say(let text):
            let isHeard = !context.options.quiet && !context.options.json
            guard isHeard || dialogue.judge == .person else { return nil }
            try line.clear()
            try context.process.errors.print(text)
        case .ask(let text):
            try line.clear()
            try context.process.errors.write(text)
        case .print(let text):
            guard !context.options.json else { return nil }
            try line.clear()
            try context.output.print(text)
            try context.output.flush()
        case .discardInput: context.terminal.discardInput()
        case .answer(let answer):
            do {
                try await agent.call(Endpoints.answerDrop, answer)
            } catch let error as ControlError where error.code == .invalidRequest {
                // It has ended meanwhile, and the agent is just saying how.
            }
        case .fail(let error): return error
        }
        return nil
    }
}
