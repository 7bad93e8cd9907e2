import Arithmetic
import ControlAPI
import Phrases

/// What `drop send` and `drop receive` say to the user and to the agent, from what each of them says. Pure.
struct DropDialogue {
    /// Who compares codes.
    enum Judge: Equatable {
        /// A person at a terminal.
        case person
        /// A script that knows what the other device shows.
        case expected(String)
        /// A script that writes what the other device shows to standard input.
        case input
        /// Nobody: codes are refused.
        case nobody
    }

    typealias Input = Utterance<DropNotice>

    enum Action: Equatable {
        /// A line on standard error.
        case say(String)
        /// A question on standard error, without a line feed.
        case ask(String)
        /// A line on standard output.
        case print(String)
        case progress(file: String, done: Int64, total: Int64, bytesPerSecond: Int64, peer: String)
        case answer(DropAnswer)
        case discardInput
        /// How the command ends, whatever the agent says when it is over.
        case fail(ControlError)
    }

    private enum State: Equatable {
        case idle
        case choosing([NearbyEntry])
        case comparing(String)
        /// The number of the offer.
        case offered(Int)
    }

    let judge: Judge
    /// Whether offers of paired devices are accepted without a question.
    let acceptsPaired: Bool
    /// Whether there is room for large digits.
    let isLarge: Bool
    private var state = State.idle
    private var session = 0
    /// A script has said that the code of the transfer under way is right: it wants the file, too.
    private var isCodeExpected = false
    /// What a script has written before there was a code.
    private var early: [String] = []
    private var hasInputEnded = false
    private var isSending = false

    init(judge: Judge, acceptsPaired: Bool, isLarge: Bool) {
        self.judge = judge
        self.acceptsPaired = acceptsPaired
        self.isLarge = isLarge
    }

    mutating func take(_ input: Input) -> [Action] {
        switch input {
        case .notice(let notice): return take(notice)
        case .line(let line): return take(line: line)
        case .inputEnded:
            hasInputEnded = true
            return nobodyAnswers()
        }
    }

    private mutating func take(_ notice: DropNotice) -> [Action] {
        switch notice {
        case .sending(let session, _):
            self.session = session
            isSending = true
            return []
        case .waiting(let session, let directory, let listening):
            self.session = session
            let places = listening.isEmpty ? "" : translated(", at \(listening.joined(separator: ", "))")
            return [.say(translated("Ready to receive files into \(EscapedName.escape(directory))\(places)."))]
        case .receivers(let devices): return choose(among: devices)
        case .preparing(let file, let size):
            return [.say(translated("Reading \(EscapedName.escape(file)), \(Quantity.size(size))."))]
        // The command names files of this disk; the agent reads these itself.
        case .wanted: return []
        case .connecting(let address): return [.say(translated("Connecting to \(EscapedName.escape(address))."))]
        case .code(let code, let peer): return compare(code, peer)
        case .offer(let file, let size, let peer, let present, let question):
            return offer(file, size, peer, present, question)
        case .announced(let file, _, let peer):
            return [.say(translated("\(EscapedName.escape(file)) offered to \(Self.name(peer))."))]
        case .progress(let file, let size, let peer, let done, let rate):
            let way =
                isSending
                ? translated("to \(Self.name(peer)) by \(peer.transport)")
                : translated("from \(Self.name(peer)) by \(peer.transport)")
            return [.progress(file: file, done: done, total: size, bytesPerSecond: rate, peer: way)]
        case .retrying(let file, let message):
            return settled() + [
                .say(translated("\(EscapedName.escape(file)): \(EscapedName.escape(message.shown)) Trying again."))
            ]
        case .sent(let file, let size, let peer, let seconds):
            let speed = Self.speed(size, seconds)
            return settled() + [.print(translated("Sent \(EscapedName.escape(file)) to \(Self.name(peer)), \(speed)."))]
        case .received(_, let size, let peer, let path, let seconds):
            let speed = Self.speed(size, seconds)
            return settled() + [
                .print(translated("Received \(EscapedName.escape(path)) from \(Self.name(peer)), \(speed)."))
            ]
        case .failed(let file, let error):
            let words = file.map { "\(EscapedName.escape($0)): " } ?? ""
            return settled() + [.say("synctrain: \(words)\(EscapedName.escape(error.shown))")]
        case .done: return []
        }
    }

    /// The transfer that was asked about is over.
    private mutating func settled() -> [Action] {
        let wasAsking = judge == .person && state != .idle
        state = .idle
        isCodeExpected = false
        return wasAsking ? [.say("")] : []
    }

    private static func name(_ peer: DropPeer) -> String {
        let name = peer.name.map(EscapedName.escape) ?? peer.device.map { String($0.prefix(7)) }
        return name ?? EscapedName.escape(peer.address)
    }

    private static func speed(_ size: Int64, _ seconds: Double) -> String {
        guard seconds > 0.5, size > 0 else { return Quantity.size(size) }
        return
            translated(
                "\(Quantity.size(size)) in \(Quantity.time(seconds)), \(Quantity.rate(Int64(nearest: Double(size) / seconds)))"
            )
    }

    // MARK: choosing

    private mutating func choose(among devices: [NearbyEntry]) -> [Action] {
        state = .choosing(devices)
        guard judge == .person else {
            return [
                .fail(
                    ControlError(
                        .invalidRequest, "No device selected; use --to NAME."))
            ]
        }
        guard !devices.isEmpty else {
            return [
                .say(
                    translated(
                        "No nearby device is receiving. Start `synctrain drop receive` or a GhostDrop app there."))
            ]
        }
        let rows = devices.enumerated().map { index, device in
            [
                "\(index + 1)", EscapedName.escape(device.name ?? device.device.map { String($0.prefix(7)) } ?? "?"),
                EscapedName.escape(device.address), device.signal.map { "\($0) dBm" } ?? "",
                device.isKnown ? translated("paired") : "",
            ]
        }
        return Table.lines(rows).map { .say($0) } + ask()
    }

    // MARK: the code

    private mutating func compare(_ code: String, _ peer: DropPeer) -> [Action] {
        let shown = isLarge ? LargeDigits.lines(code) : ["    " + LargeDigits.spaced(code)]
        let who = peer.name == nil && peer.device == nil ? translated("A device") : Self.name(peer)
        var actions: [Action] = [
            "", translated("\(who) at \(EscapedName.escape(peer.address)) (\(peer.transport))"), "",
        ]
        .map { .say($0) }
        actions += shown.map { .say($0) } + [.say("")]
        state = .comparing(code)
        switch judge {
        case .expected(let expected): return actions + judged(code, by: expected)
        case .input:
            if !early.isEmpty { return actions + judged(code, by: early.removeFirst()) }
            return actions + (hasInputEnded ? nobodyAnswers() : [])
        case .person: return actions + [.discardInput] + (hasInputEnded ? nobodyAnswers() : ask())
        case .nobody:
            return actions + refuse() + [
                .say(
                    translated(
                        "The code was refused because nobody can compare it "
                            + "here; run this in a terminal."))
            ]
        }
    }

    private mutating func judged(_ code: String, by text: String) -> [Action] {
        if PairRequest.code(parsing: text) == code {
            isCodeExpected = true
            return confirm(code)
        }
        let error = ControlError(
            .codesDiffer,
            "This device shows \(LargeDigits.spaced(code)), and \(EscapedName.escape(text)) was expected. Somebody may be intercepting "
                + "the connection.")
        return refuse() + [.fail(error)]
    }

    private mutating func confirm(_ code: String) -> [Action] {
        state = .idle
        return [.answer(DropAnswer(session: session, action: .confirm, code: code))]
    }

    private mutating func refuse() -> [Action] {
        state = .idle
        return [.answer(DropAnswer(session: session, action: .refuse))]
    }

    // MARK: the offer

    private mutating func offer(
        _ file: String, _ size: Int64, _ peer: DropPeer, _ present: Int64, _ question: Int
    ) -> [Action] {
        let rest = present > 0 ? translated(", \(Quantity.size(present)) already here") : ""
        let kind = peer.isPaired ? translated("a paired device") : translated("not a paired device")
        let words: [Action] = [
            .say(
                translated(
                    "\(Self.name(peer)), \(kind), sends \(EscapedName.escape(file)), \(Quantity.size(size))\(rest)."))
        ]
        state = .offered(question)
        if peer.isPaired ? acceptsPaired : isCodeExpected { return words + decide(true, on: question) }
        guard judge == .person, !hasInputEnded else {
            return words + decide(false, on: question) + [
                .say(
                    translated(
                        "The file was declined because nobody can confirm it here; run "
                            + "this in a terminal."))
            ]
        }
        return words + [.discardInput] + ask()
    }

    private mutating func decide(_ isTaken: Bool, on question: Int) -> [Action] {
        state = .idle
        return [.answer(DropAnswer(session: session, action: isTaken ? .accept : .decline, question: question))]
    }

    // MARK: lines

    private mutating func take(line: String) -> [Action] {
        let word = String(line.lowercased().filter { !$0.isWhitespace })
        switch state {
        case .idle:
            if judge == .input, early.count < 1000 { early.append(line) }
            return []
        case .choosing(let devices):
            guard judge == .person else { return [] }
            guard !word.isEmpty else { return ask() }
            guard let number = Int(word), devices.indices.contains(number - 1) else {
                return [.say(translated("`\(EscapedName.escape(line))` is not in the list."))] + ask()
            }
            state = .idle
            return [.answer(DropAnswer(session: session, action: .choose, address: devices[number - 1].address))]
        case .comparing(let code):
            if judge == .input { return judged(code, by: line) }
            switch word {
            case _ where Word.isYes(word):
                return confirm(code) + [.say(translated("Waiting for the other device's user."))]
            case _ where word.isEmpty || Word.isNo(word): return refuse()
            default: return [.say(translated("Answer y or n."))] + ask()
            }
        case .offered(let question):
            switch word {
            case _ where Word.isYes(word): return decide(true, on: question)
            case _ where word.isEmpty || Word.isNo(word): return decide(false, on: question)
            default: return [.say(translated("Answer y or n."))] + ask()
            }
        }
    }

    private mutating func nobodyAnswers() -> [Action] {
        switch state {
        case .comparing:
            return refuse() + [.fail(ControlError(.confirmationNeeded, "The code was not confirmed."))]
        case .offered(let question): return decide(false, on: question)
        case .choosing:
            return [.fail(ControlError(.confirmationNeeded, "No device selected; use --to NAME."))]
        case .idle: return []
        }
    }

    private func ask() -> [Action] {
        guard judge == .person else { return [] }
        switch state {
        case .choosing(let devices) where !devices.isEmpty:
            return [.ask(translated("Number of the device to send to: "))]
        case .comparing: return [.ask(translated("Does the other device show the same digits? [y/N] "))]
        case .offered: return [.ask(translated("Accept? [y/N] "))]
        default: return []
        }
    }
}
