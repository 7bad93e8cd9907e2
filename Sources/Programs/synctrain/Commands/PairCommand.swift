import ArgumentParser
import ControlAPI
import Phrases

struct PairCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "pair", abstract: translated("Pair with another device by comparing six digits."),
            discussion: translated(
                """
                Run it on both devices within two minutes, on one of them with the id or an address of the other, or with \
                --nearby to choose it from a list. A device id is found on the local network or through discovery servers, \
                and reached over relays if need be. Both show six digits. If the digits match, answer yes on both: each device stores \
                the other, and they connect. If they differ, somebody may be intercepting the connection: answer no.

                --yes does not confirm the digits. A script passes the digits shown by the other device with \
                --expect-sas, or writes them to standard input with --expect-sas -. With --json each event is a line on \
                standard output.
                """))
    }

    @Argument(
        help: ArgumentHelp(
            translated(
                "Id of the waiting device or an address: 192.168.1.5, nas.local:22001, ble://AA:BB:CC:DD:EE:FF."),
            valueName: "device"))
    var address: String?

    @Flag(help: ArgumentHelp(translated("List nearby devices to choose from, and wait as well.")))
    var nearby = false

    @Option(
        name: .customLong("expect-sas"),
        help: ArgumentHelp(
            translated("Digits shown by the other device; - to read them from standard input."), valueName: "digits")
    )
    var expected: String?

    @Option(help: ArgumentHelp(translated("Folder to share with the device; repeatable."), valueName: "id"))
    var folder: [String] = []

    @Option(
        help: ArgumentHelp(
            translated("Timeout for finding the device and for each answer, 1 to 120 seconds."), valueName: "seconds"))
    var timeout = PairRequest.longestWait

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if address != nil, nearby { throw ValidationError(translated("Give an address or --nearby, not both.")) }
        if let expected, expected != "-", PairRequest.code(parsing: expected) == nil {
            throw ValidationError(translated("--expect-sas must be six digits, or - to read them from standard input."))
        }
        guard (1...PairRequest.longestWait).contains(timeout) else {
            throw ValidationError(translated("--timeout must be between 1 and \(PairRequest.longestWait) seconds."))
        }
    }

    func execute(in context: CommandContext) async throws {
        // Before the question whether somebody is there to compare digits: this comes first.
        try context.checkSetUp(.noAgent)
        let judge = try judge(in: context.terminal)
        if global.yes, judge == .person {
            try context.remark(translated("--yes does not confirm a code: compare it yourself."))
        }
        let dialogue = PairDialogue(
            judge: judge, isNearby: nearby,
            isLarge: context.terminal.isErrorTTY && context.terminal.width >= LargeDigits.width,
            isDialling: address != nil)
        var run = PairRun(context: context, agent: try context.agent(), dialogue: dialogue)
        try await run.run(PairRequest(address: address, folders: folder, seconds: timeout))
    }

    private func judge(in terminal: Terminal) throws(ControlError) -> PairDialogue.Judge {
        if let expected { return expected == "-" ? .input : .expected(expected) }
        guard terminal.isInputTTY, terminal.isErrorTTY else {
            throw ControlError(
                .confirmationNeeded,
                message: (global.yes ? translated("--yes does not confirm a code. ") : "")
                    + translated(
                        "A person has to compare the digits of both devices: run this in a terminal, or give the digits that "
                            + "the other device shows with --expect-sas."))
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
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "unpair",
            abstract: translated("Remove a paired device and stop sharing folders with it. Files are kept."),
            discussion: translated(
                "The other device still lists this one but cannot connect. Remove this device there as well."))
    }

    @Argument(help: ArgumentHelp(translated("Device id or name.")))
    var device: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if !global.yes { try context.confirm(try await DeviceRemoveCommand.question(device, context)) }
        try await context.perform(.removeDevice(device))
    }
}
