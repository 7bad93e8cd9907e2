import ArgumentParser
import ControlAPI

struct PairCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Make this device and another one know each other, by comparing six digits.",
        discussion: """
            Run it on both devices within two minutes: with an address on one of them, or with --nearby and the number of \
            the other in the list. Both show six digits. If they are the same, say yes on both; then each has stored the \
            other, and both connect. If they differ, somebody is between the two: say no.

            --yes does not confirm the digits. A script that knows what the other device shows passes it with \
            --expect-sas, or writes it to standard input with --expect-sas -. With --json each event is a line on \
            standard output.
            """)

    @Argument(
        help: "Where the other device waits: tcp://HOST:PORT, ble://AA:BB:CC:DD:EE:FF or virtual://NAME.")
    var address: String?

    @Flag(help: "List devices near-by to choose from, and wait as well.")
    var nearby = false

    @Option(
        name: .customLong("expect-sas"),
        help: ArgumentHelp("The digits that the other device shows; - to read them from input.", valueName: "digits"))
    var expected: String?

    @Option(help: ArgumentHelp("Share this folder with the device; may be given again.", valueName: "id"))
    var folder: [String] = []

    @Option(
        help: ArgumentHelp(
            "Wait no longer than this for a device, and for each answer: 1 to 120.", valueName: "seconds"))
    var timeout = PairRequest.longestWait

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if address != nil, nearby { throw ValidationError("Give an address or --nearby, not both.") }
        if let expected, expected != "-", PairRequest.code(parsing: expected) == nil {
            throw ValidationError("--expect-sas takes six digits, or - to read them from standard input.")
        }
        guard (1...PairRequest.longestWait).contains(timeout) else {
            throw ValidationError("--timeout is a number of seconds from 1 to \(PairRequest.longestWait).")
        }
    }

    func execute(in context: CommandContext) async throws {
        let judge = try judge(in: context.terminal)
        if global.yes, judge == .person { try context.remark("--yes does not confirm a code: compare it yourself.") }
        let dialogue = PairDialogue(
            judge: judge, isNearby: nearby,
            isLarge: context.terminal.isErrorTTY && context.terminal.width >= LargeDigits.width)
        var run = PairRun(context: context, agent: try context.agent(), dialogue: dialogue)
        try await run.run(PairRequest(address: address, folders: folder, seconds: timeout))
    }

    private func judge(in terminal: Terminal) throws(ControlError) -> PairDialogue.Judge {
        if let expected { return expected == "-" ? .input : .expected(expected) }
        guard terminal.isInputTTY, terminal.isErrorTTY else {
            throw ControlError(
                .confirmationNeeded,
                (global.yes ? "--yes does not confirm a code. " : "")
                    + "A person has to compare the digits of both devices: run this in a terminal, or give the digits that "
                    + "the other device shows with --expect-sas.")
        }
        return .person
    }
}

/// The command while it runs: carries what the agent and the user say to the dialogue, and does what that says.
struct PairRun {
    let context: CommandContext
    let agent: any AgentControl
    var dialogue: PairDialogue

    mutating func run(_ request: PairRequest) async throws {
        let agent = agent
        let conversation = Conversation<PairEvent>(
            context: context, readsInput: dialogue.judge == .person || dialogue.judge == .input)
        try await conversation.run({ emit in try await agent.call(Endpoints.pair, request, emit: emit) }) { utterance in
            var failure: ControlError?
            for action in dialogue.take(utterance) {
                if let error = try await perform(action) { failure = error }
            }
            return failure.map { .willFail($0) } ?? .goOn
        }
    }

    /// Gives how the command will end, if the action says so.
    private func perform(_ action: PairDialogue.Action) async throws -> ControlError? {
        switch action {
        case .say(let text):
            let isHeard = !context.options.quiet && !context.options.json
            if isHeard || dialogue.judge == .person { try context.process.errors.print(text) }
        case .ask(let text): try context.process.errors.write(text)
        case .print(let text): if !context.options.json { try context.output.print(text) }
        case .discardInput: context.terminal.discardInput()
        case .answer(let answer):
            do {
                try await agent.call(Endpoints.answerPairing, answer)
            } catch let error as ControlError where error.code == .notPairing {
                // It has ended meanwhile, and the agent is just saying how.
            }
        case .fail(let error): return error
        }
        return nil
    }
}

struct UnpairCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpair", abstract: "Forget a device: share nothing with it any more. Files stay.",
        discussion: "The other device still knows this one until it is told to forget it, too. It cannot connect.")

    @Argument(help: "The device's id or name.")
    var device: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try context.confirm("Forget the device \(EscapedName.escape(device)), and share no folder with it any more?")
        try await context.edit(.removeDevice(device))
    }
}
