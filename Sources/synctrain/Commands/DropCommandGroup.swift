import ArgumentParser
import ControlAPI

struct DropCommandGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Send files one by one to a device near-by or a paired one, or receive them.",
        discussion: """
            To a paired device a file goes over whatever link there is. To any other, and to phones and Macs, it goes by \
            GhostDrop over Bluetooth: both devices show six digits, and both users say whether they are the same. For devices \
            that you use often, `synctrain pair` is the safer way: GhostDrop's digits do not stop somebody who sits between \
            the two with a fast computer.
            """,
        subcommands: [DropSendCommand.self, DropReceiveCommand.self])
}

struct DropSendCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send files, one after the other.",
        discussion: """
            Without --to it lists the devices to choose from. The other device has to receive: `synctrain drop receive`, or \
            its GhostDrop app. A transfer that was broken off goes on where it ended when the same file is sent again.

            --yes does not confirm the digits. A script that knows what the other device shows passes it with --expect-sas, \
            or writes it to standard input, a line for each file, with --expect-sas -. With --json each event is a line on \
            standard output.
            """)

    @Argument(help: ArgumentHelp("What to send.", valueName: "file"), completion: .file())
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "A paired device's name or id, a name that is seen near-by, or ble://AA:BB:CC:DD:EE:FF.", valueName: "name")
    )
    var to: String?

    @Option(
        name: .customLong("expect-sas"),
        help: ArgumentHelp("The digits that the other device shows; - to read them from input.", valueName: "digits"))
    var expected: String?

    @Option(
        help: ArgumentHelp("How long to look for the device, or wait for a lost link: 1 to 3600.", valueName: "seconds")
    )
    var timeout = 120

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        try DropJudge.validate(expected)
        guard expected == nil || expected == "-" || files.count == 1 else {
            throw ValidationError(
                "Each file has digits of its own: with --expect-sas send one file, or use --expect-sas -.")
        }
        guard (1...DropSendRequest.longestWait).contains(timeout) else {
            throw ValidationError("--timeout is a number of seconds from 1 to \(DropSendRequest.longestWait).")
        }
    }

    func execute(in context: CommandContext) async throws {
        let request = DropSendRequest(files: files.map { context.absolute($0) }, target: to, seconds: timeout)
        let judge = DropJudge.judge(expected, context.terminal)
        if global.yes, judge == .person { try context.remark("--yes does not confirm a code: compare it yourself.") }
        let dialogue = DropDialogue(
            judge: judge, acceptsPaired: false,
            isLarge: context.terminal.isErrorTTY && context.terminal.width >= LargeDigits.width)
        var run = DropRun(context: context, dialogue: dialogue)
        let agent = try context.agent()
        try await run.run(agent) { emit in try await agent.call(Endpoints.dropSend, request, emit: emit) }
    }
}

struct DropReceiveCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receive", abstract: "Receive files while this command runs; each is asked about.",
        discussion: """
            It ends with Ctrl-C, after --count files, or when nobody has sent anything for --timeout seconds. A file that is \
            there is never replaced: the new one gets a number behind its name. What has come of a file before its link was \
            lost stays in the directory, as .syncthing.drop-….tmp, until it is sent again.

            --yes takes the files of paired devices without asking, and of nobody else; it does not confirm digits. With \
            --expect-sas the file of whoever shows these digits is taken.
            """)

    @Option(
        name: .customLong("dir"),
        help: ArgumentHelp("Where to put files; without it, the current directory.", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(help: ArgumentHelp("End after so many files.", valueName: "number"))
    var count: Int?

    @Option(
        name: .customLong("expect-sas"),
        help: ArgumentHelp("The digits that the other device shows; - to read them from input.", valueName: "digits"))
    var expected: String?

    @Option(help: ArgumentHelp("End when nobody has sent anything for so long: 1 to 3600.", valueName: "seconds"))
    var timeout: Int?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        try DropJudge.validate(expected)
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count is 1 or more.") }
        guard timeout.map((1...DropSendRequest.longestWait).contains) ?? true else {
            throw ValidationError("--timeout is a number of seconds from 1 to \(DropSendRequest.longestWait).")
        }
    }

    func execute(in context: CommandContext) async throws {
        let judge = DropJudge.judge(expected, context.terminal)
        guard judge != .nobody || global.yes else {
            throw ControlError(
                .confirmationNeeded,
                "Somebody has to say which files are taken: run this in a terminal, take those of paired devices with "
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
            throw ValidationError("--expect-sas takes six digits, or - to read them from standard input.")
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
