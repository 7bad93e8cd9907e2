import ControlAPI
import Phrases

/// What `pair` says to the user and to the agent, from what each of them says. Pure.
struct PairDialogue {
    /// Who compares the codes.
    enum Judge: Equatable {
        /// A person at a terminal.
        case person
        /// A script that knows what the other device shows.
        case expected(String)
        /// A script that writes what the other device shows to standard input.
        case input
    }

    typealias Input = Utterance<PairEvent>

    enum Action: Equatable {
        /// A line on standard error.
        case say(String)
        /// A question on standard error, without a line feed.
        case ask(String)
        /// A line on standard output.
        case print(String)
        case answer(PairAnswer)
        case discardInput
        /// How the command ends, whatever the agent says when it is over.
        case fail(ControlError)
    }

    private enum State: Equatable {
        case waiting
        case choosing([NearbyEntry])
        case comparing(String)
        case answered
    }

    /// Of a machine with many networks, not all are of use to the other one.
    private static let shownAddresses = 3

    let judge: Judge
    /// Whether there is a choice among nearby devices.
    let isNearby: Bool
    /// Whether there is room for large digits.
    let isLarge: Bool
    /// Whether the user has said which device to dial.
    let isDialling: Bool
    private var state = State.waiting
    /// What a script has written before there was a code.
    private var early: String?
    private var hasInputEnded = false

    init(judge: Judge, isNearby: Bool, isLarge: Bool, isDialling: Bool) {
        self.judge = judge
        self.isNearby = isNearby
        self.isLarge = isLarge
        self.isDialling = isDialling
    }

    mutating func take(_ input: Input) -> [Action] {
        switch input {
        case .notice(let event): take(event)
        case .line(let line): take(line: line)
        case .inputEnded: takeEnd()
        }
    }

    private mutating func take(_ event: PairEvent) -> [Action] {
        switch event {
        case .waiting(let device, let listening, let seconds):
            return wait(device, listening, seconds)
        case .nearby(let devices):
            guard isNearby else { return [] }
            return choose(among: devices)
        case .dialling(let address):
            return [.say(translated("Connecting to \(address)."))]
        case .code(let code, let device, let name, let address, let transport):
            return compare(code, Self.name(name ?? "", device), address, transport)
        case .confirmedThere:
            return [
                .say(
                    isComparing
                        ? translated("\nThe other device's user has said yes.")
                        : translated("The other device's user said yes."))
            ]
        case .attemptFailed(let message):
            return [.say(message.shown)] + ask()
        case .paired(let device, let name, _, let folders, let isMutual):
            var actions: [Action] =
                [.print(translated("Paired with \(Self.name(name, device))."))] + Self.shared(folders)
            if !isMutual {
                actions.append(
                    .say(
                        translated(
                            "The other device did not confirm that it stored this one. If it does not list it, pair again."
                        )
                    ))
            }
            return actions
        case .alreadyPaired(let device, let name, let folders):
            return [.print(translated("Already paired with \(Self.name(name, device))."))] + Self.shared(folders)
        }
    }

    /// A device's name with the beginning of its id; all of the id where nothing else tells which device it is.
    private static func name(_ name: String, _ device: String) -> String {
        name.isEmpty ? device : "\(EscapedName.escape(name)) (\(StatusRendering.short(device)))"
    }

    private static func shared(_ folders: [String]) -> [Action] {
        folders.isEmpty
            ? [] : [.print(translated("Shared with it: \(folders.map(EscapedName.escape).joined(separator: ", "))."))]
    }

    private func wait(_ device: String, _ listening: [String], _ seconds: Int) -> [Action] {
        guard !isDialling else {
            return [.say(translated("Run `synctrain pair` on the other device, too, within \(seconds) s."))]
        }
        var lines = [
            translated("Waiting for the other device for \(seconds) s. Run there:"),
            "    synctrain pair \(device)",
        ]
        let addresses = listening.prefix(Self.shownAddresses)
        if !addresses.isEmpty {
            lines.append(translated("Or, where it does not find this device by itself:"))
            lines += addresses.map { "    synctrain pair \(ShellWord.quoted(EscapedName.escape($0)))" }
        }
        return lines.map { .say($0) }
    }

    private mutating func choose(among devices: [NearbyEntry]) -> [Action] {
        switch state {
        case .waiting, .choosing: break
        case .comparing, .answered: return []
        }
        state = .choosing(devices)
        guard !devices.isEmpty else { return [.say(translated("No nearby devices."))] }
        let rows = devices.enumerated().map { index, device in
            [
                "\(index + 1)", EscapedName.escape(device.name ?? device.device.map { String($0.prefix(7)) } ?? "?"),
                device.address, device.signal.map { "\($0) dBm" } ?? "", device.isKnown ? translated("known") : "",
            ]
        }
        return Table.lines(rows).map { .say($0) } + ask()
    }

    private mutating func compare(
        _ code: String, _ device: String, _ address: String, _ transport: String
    ) -> [Action] {
        let shown = isLarge ? LargeDigits.lines(code) : ["    " + LargeDigits.spaced(code)]
        var actions: [Action] = ["", translated("\(device) at \(address) (\(transport))"), ""].map { .say($0) }
        actions += shown.map { .say($0) } + [.say("")]
        switch judge {
        case .expected(let expected):
            return actions + judged(code, by: expected)
        case .input:
            state = .comparing(code)
            if let early { return actions + judged(code, by: early) }
            return hasInputEnded ? actions + takeEnd() : actions
        case .person:
            state = .comparing(code)
            return actions + [.discardInput] + (hasInputEnded ? takeEnd() : ask())
        }
    }

    private mutating func judged(_ code: String, by text: String) -> [Action] {
        state = .answered
        if PairRequest.code(parsing: text) == code { return [.answer(.confirm(code: code))] }
        return [
            .answer(.refuse),
            .fail(
                ControlError(
                    .pairingMismatch,
                    "Nothing was stored: this device shows \(LargeDigits.spaced(code)), and \(EscapedName.escape(text)) was "
                        + "expected. Somebody may be between the two devices.")),
        ]
    }

    private mutating func take(line: String) -> [Action] {
        let word = String(line.lowercased().filter { !$0.isWhitespace })
        switch state {
        case .waiting:
            if judge == .input { early = early ?? line }
            return []
        case .choosing(let devices):
            if judge == .input {
                early = early ?? line
                return []
            }
            guard !word.isEmpty else { return ask() }
            guard let number = Int(word), devices.indices.contains(number - 1) else {
                return [.say(translated("`\(EscapedName.escape(line))` is not in the list."))] + ask()
            }
            return [.answer(.dial(address: devices[number - 1].address))]
        case .comparing(let code):
            if judge == .input { return judged(code, by: line) }
            switch word {
            case _ where Word.isYes(word):
                state = .answered
                return [.answer(.confirm(code: code)), .say(translated("Waiting for the other device's user."))]
            case _ where word.isEmpty || Word.isNo(word):
                state = .answered
                return [.answer(.refuse)]
            default: return [.say(translated("Answer y or n."))] + ask()
            }
        case .answered: return []
        }
    }

    private mutating func takeEnd() -> [Action] {
        hasInputEnded = true
        guard case .comparing = state else { return [] }
        state = .answered
        return [
            .answer(.refuse),
            .fail(ControlError(.confirmationNeeded, "Nothing was stored: the code was not confirmed.")),
        ]
    }

    private var isComparing: Bool {
        if case .comparing = state { judge == .person } else { false }
    }

    private func ask() -> [Action] {
        guard judge == .person else { return [] }
        switch state {
        case .choosing(let devices) where !devices.isEmpty:
            return [.ask(translated("Number of the device to pair with, or wait for it to connect: "))]
        case .comparing: return [.ask(translated("Does the other device show the same digits? [y/N] "))]
        default: return []
        }
    }
}
