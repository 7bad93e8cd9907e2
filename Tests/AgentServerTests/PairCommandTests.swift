import ControlAPI
import Foundation
import Testing

@testable import synctrain

/// What the dialogue says, for what it is told.
struct PairDialogueTests {
    static let device = "AAAAAAA-B"
    static let code = PairDialogue.Input.notice(
        .code("042137", device: device, address: "tcp://h:1", transport: "tcp"))
    static let kitchen = NearbyEntry(name: "kitchen\u{1b}", address: "ble://x", transport: "l2cap", signal: -48)
    static let office = NearbyEntry(device: "CCCCCCC-DDDDDDD", address: "tcp://h:2", transport: "tcp", isKnown: true)

    private func dialogue(
        _ judge: PairDialogue.Judge = .person, isNearby: Bool = false, isLarge: Bool = false, isDialling: Bool = false
    ) -> PairDialogue {
        PairDialogue(judge: judge, isNearby: isNearby, isLarge: isLarge, isDialling: isDialling)
    }

    private func answers(_ actions: [PairDialogue.Action]) -> [PairAnswer] {
        actions.compactMap { if case .answer(let answer) = $0 { answer } else { nil } }
    }

    private func failure(_ actions: [PairDialogue.Action]) -> ControlError.Code? {
        actions.compactMap { if case .fail(let error) = $0 { error.code } else { nil } }.first
    }

    @Test func saysWhatToRunOnTheOtherDevice() {
        let waiting = PairDialogue.Input.notice(
            .waiting(device: Self.device, listening: ["tcp://192.0.2.1:22000"], seconds: 120))
        var dialogue = dialogue()
        #expect(
            dialogue.take(waiting) == [
                .say("Waiting for the other device for 120 s. Run there:"), .say("    synctrain pair AAAAAAA-B"),
                .say("Or, where it does not find this device by itself:"),
                .say("    synctrain pair tcp://192.0.2.1:22000"),
            ])
        dialogue = self.dialogue(isDialling: true)
        #expect(
            dialogue.take(waiting) == [.say("Run `synctrain pair` on the other device, too, within 120 s.")])
    }

    /// All of an id is shown only where nothing else says which device it is.
    @Test func aDeviceIsShownByItsName() {
        let id = "BBBBBBB-CCCCCCC-DDDDDDD"
        for (name, shown) in [("nas\u{1b}", "nas\\x1b (BBBBBBB)"), (nil, id)] {
            var dialogue = dialogue()
            let code = PairEvent.code("042137", device: id, name: name, address: "tcp://h:1", transport: "tcp")
            #expect(dialogue.take(.notice(code)).contains(.say("\(shown) at tcp://h:1 (tcp)")))
            let paired = PairEvent.paired(
                device: id, name: name ?? "", addresses: [], folders: [], isMutual: true)
            #expect(dialogue.take(.notice(paired)) == [.print("Paired with \(shown).")])
            let known = PairEvent.alreadyPaired(device: id, name: name ?? "", folders: [])
            #expect(dialogue.take(.notice(known)) == [.print("Already paired with \(shown).")])
        }
    }

    @Test func showsTheCodeAndAsks() {
        var dialogue = dialogue()
        let actions = dialogue.take(Self.code)
        #expect(actions.contains(.say("    042 137")))
        #expect(actions.suffix(2) == [.discardInput, .ask("Does the other device show the same digits? [y/N] ")])
    }

    @Test(
        arguments: [
            ("y", true), ("YES", true), (" y \r", true), ("", false), ("n", false), ("No", false), ("1", nil),
            ("yy", nil),
            ("042137", nil),
        ] as [(String, Bool?)])
    func onlyAYesIsAYes(_ line: String, _ verdict: Bool?) {
        var dialogue = dialogue()
        _ = dialogue.take(Self.code)
        let given = answers(dialogue.take(.line(line)))
        switch verdict {
        case true?: #expect(given == [.confirm(code: "042137")])
        case false?: #expect(given == [.refuse])
        case nil:
            #expect(given == [])
            #expect(answers(dialogue.take(.line("y"))) == [.confirm(code: "042137")], "it is asked again")
        }
        #expect(verdict == nil || answers(dialogue.take(.line("y"))) == [], "once answered, nothing more is")
    }

    @Test func whatWasTypedBeforeTheCodeIsNoAnswer() {
        var dialogue = dialogue(isNearby: true)
        #expect(dialogue.take(.line("y")) == [])
        _ = dialogue.take(.notice(.nearby([Self.kitchen])))
        #expect(answers(dialogue.take(.line("y"))) == [])
        #expect(answers(dialogue.take(Self.code)) == [])
    }

    @Test func anInputThatEndsIsANo() {
        var dialogue = dialogue()
        #expect(dialogue.take(.inputEnded) == [])
        let actions = dialogue.take(Self.code)
        #expect(answers(actions) == [.refuse])
        #expect(failure(actions) == .confirmationNeeded)
        var later = self.dialogue()
        _ = later.take(Self.code)
        #expect(answers(later.take(.inputEnded)) == [.refuse])
    }

    @Test(arguments: ["042137", "042 137", "042-137"])
    func aScriptConfirmsWhatItExpects(_ text: String) {
        var expecting = dialogue(.expected(text))
        #expect(answers(expecting.take(Self.code)) == [.confirm(code: "042137")])
        var reading = dialogue(.input)
        #expect(answers(reading.take(Self.code)) == [])
        #expect(answers(reading.take(.line(text))) == [.confirm(code: "042137")])
        var early = dialogue(.input)
        #expect(early.take(.line(text)) == [])
        #expect(answers(early.take(Self.code)) == [.confirm(code: "042137")])
    }

    @Test(arguments: ["042138", "", "y", "yes", "42137"])
    func aScriptRefusesAnythingElse(_ text: String) {
        for judge in [PairDialogue.Judge.expected(text), .input] {
            var dialogue = dialogue(judge)
            var actions = dialogue.take(Self.code)
            if judge == .input { actions += dialogue.take(.line(text)) }
            #expect(answers(actions) == [.refuse])
            #expect(failure(actions) == .pairingMismatch)
        }
    }

    @Test func devicesAreChosenByNumber() {
        var dialogue = dialogue(isNearby: true)
        let shown = dialogue.take(.notice(.nearby([Self.kitchen, Self.office])))
        #expect(shown.first == .say("1  kitchen\\x1b  ble://x    -48 dBm"))
        #expect(shown.dropFirst().first == .say("2  CCCCCCC      tcp://h:2           known"))
        #expect(answers(dialogue.take(.line("3"))) == [])
        #expect(answers(dialogue.take(.line("0"))) == [])
        #expect(answers(dialogue.take(.line("2"))) == [.dial(address: "tcp://h:2")])
        // A failure is no end: another may be chosen.
        _ = dialogue.take(.notice(.attemptFailed(message: "no")))
        #expect(answers(dialogue.take(.line("1"))) == [.dial(address: "ble://x")])
        // Without --nearby there is no list.
        var waiting = self.dialogue()
        #expect(waiting.take(.notice(.nearby([Self.kitchen]))) == [])
    }

    @Test func theListDoesNotDisturbTheComparing() {
        var dialogue = dialogue(isNearby: true)
        _ = dialogue.take(Self.code)
        #expect(dialogue.take(.notice(.nearby([Self.kitchen]))) == [])
        #expect(answers(dialogue.take(.line("1"))) == [])
    }

    @Test func saysHowItEnded() {
        var dialogue = dialogue()
        #expect(
            dialogue.take(
                .notice(
                    .paired(
                        device: Self.device, name: "k\u{7}", addresses: [], folders: ["photos", "a"], isMutual: true)))
                == [.print("Paired with k\\x07 (AAAAAAA)."), .print("Shared with it: photos, a.")])
        let half = dialogue.take(
            .notice(.paired(device: Self.device, name: "", addresses: [], folders: [], isMutual: false)))
        #expect(half.first == .print("Paired with AAAAAAA-B."))
        #expect(half.count == 2)
        #expect(
            dialogue.take(.notice(.alreadyPaired(device: Self.device, name: "nas", folders: [])))
                == [.print("Already paired with nas (AAAAAAA).")])
    }

    @Test func largeDigitsAreDigits() {
        var rows: Set<[String]> = []
        for digit in 0..<10 {
            let lines = LargeDigits.lines(String(repeating: String(digit), count: 6))
            #expect(lines.count == 5)
            #expect(lines.allSatisfy { $0.count <= LargeDigits.width })
            rows.insert(lines)
        }
        #expect(rows.count == 10, "two digits look alike")
        var dialogue = dialogue(isLarge: true)
        let actions = dialogue.take(Self.code)
        for line in LargeDigits.lines("042137") { #expect(actions.contains(.say(line))) }
    }
}

/// The command against an agent that is made up.
struct PairCommandTests {
    private static let device = "AAAAAAA-B"

    private static func pairing(code: String = "042137") -> ScriptedControl {
        ScriptedControl(onPair: { script in
            script.tell(.waiting(device: "X", listening: ["tcp://h:1"], seconds: 120))
            script.tell(.code(code, device: device, address: "tcp://h:9", transport: "tcp"))
            switch await script.answer() {
            case .confirm(code):
                script.tell(
                    .paired(device: device, name: "nas", addresses: ["dynamic"], folders: [], isMutual: true))
            default: throw ControlError(.confirmationNeeded, "Nothing was stored.")
            }
        })
    }

    /// A terminal at which somebody answers the question about the code, once it is asked.
    private static func terminal(_ answer: String) -> Terminal {
        let (questions, question) = AsyncStream.makeStream(of: Void.self)
        return Terminal(
            isInputTTY: true, isOutputTTY: true, isErrorTTY: true, width: 80, readLine: { nil },
            nextLine: {
                for await _ in questions { return answer }
                throw CancellationError()
            }, discardInput: { question.yield() })
    }

    @Test(arguments: [[], ["--yes"], ["--json"], ["--nearby"], ["tcp://h:1"]])
    func nobodyToAskIsNoYes(_ arguments: [String]) async throws {
        let control = Self.pairing()
        let result = await Scene(control: control).run(["pair"] + arguments)
        #expect(result.code == 6)
        #expect(result.errors.contains("--expect-sas"))
        #expect(result.errors.contains("--yes does not confirm") == arguments.contains("--yes"))
        #expect(control.asked.isEmpty, "the agent was not even asked")
    }

    @Test func aScriptWithTheRightDigits() async {
        let control = Self.pairing()
        let result = await Scene(control: control).run(
            "pair", "tcp://h:9", "--expect-sas", "042 137", "--folder", "a", "--folder", "b", "--timeout", "7")
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output == "Paired with nas (AAAAAAA).\n")
        #expect(control.asked == ["pair tcp://h:9 [\"a\", \"b\"] 7", "answer confirm(code: \"042137\")"])
    }

    @Test func aScriptWithOtherDigits() async {
        let result = await Scene(control: Self.pairing()).run("pair", "--expect-sas", "042138", "--json")
        #expect(result.code == 1)
        #expect(result.errors.contains(#""code":"pairing-mismatch""#))
        #expect(result.output.split(separator: "\n").count == 2, "the events are the answer")
        #expect(result.output.contains(#""type":"code""#))
    }

    @Test(arguments: [("y", 0), ("n", 6), ("", 6)] as [(String, Int32)])
    func aPersonSaysYesOrNo(_ answer: String, _ code: Int32) async {
        var scene = Scene(control: Self.pairing())
        scene.terminal = Self.terminal(answer)
        let result = await scene.run("pair", "--yes")
        #expect(result.code == code)
        #expect(result.errors.contains("--yes does not confirm a code"))
        #expect(result.errors.contains("██"))
        #expect(result.output == (code == 0 ? "Paired with nas (AAAAAAA).\n" : ""))
    }

    @Test func endsWithTheAgentsError() async {
        let control = ScriptedControl(onPair: { script in
            script.tell(.waiting(device: "X", listening: [], seconds: 1))
            throw ControlError(.timeout, "Nothing was stored: no device came.", isRetryable: true)
        })
        var scene = Scene(control: control)
        scene.terminal = Self.terminal("y")
        let result = await scene.run("pair")
        #expect(result.code == 7)
        #expect(result.errors.contains("synctrain: Nothing was stored: no device came."))
    }

    @Test(arguments: [
        ["--expect-sas", "12345"], ["--expect-sas", "abc"], ["--timeout", "0"], ["--timeout", "121"],
        ["tcp://h:1", "--nearby"],
    ])
    func refusesWrongUse(_ arguments: [String]) async {
        #expect(await Scene().run(["pair"] + arguments).code == 64)
    }

    @Test func unpairAsks() async {
        let control = ScriptedControl()
        #expect(await Scene(control: control).run("unpair", "nas").code == 6)
        #expect(await Scene(control: control).run("unpair", "nix").code == 4)
        #expect(control.asked == ["status", "status"])
        #expect(await Scene(control: control).run("unpair", "nas", "--yes").code == 0)
        #expect(control.asked == ["status", "status", "removeDevice nas"])
    }

    @Test func travelsOverTheSocket() async throws {
        let events: [PairEvent] = [
            .waiting(device: "X", listening: ["tcp://h:1"], seconds: 120),
            .nearby([
                PairDialogueTests.kitchen, PairDialogueTests.office,
            ]), .dialling(address: "tcp://h:1"), .code("042137", device: "A", address: "b", transport: "tcp"),
            .confirmedThere, .attemptFailed(message: "m"),
            .paired(device: "A", name: "n", addresses: ["dynamic"], folders: ["f"], isMutual: false),
            .alreadyPaired(device: "A", name: "n", folders: []),
        ]
        let control = ScriptedControl(onPair: { script in
            for event in events { script.tell(event) }
            throw ControlError(.pairingBlocked, "rest", isRetryable: true)
        })
        try await ServerHarness.run(control) { harness in
            let seen = Box<[PairEvent]>([])
            let error = await controlError {
                try await harness.client.call(Endpoints.pair, PairRequest(address: "a", seconds: 3)) { event in
                    seen.change { $0.append(event) }
                }
            }
            #expect(error?.code == .pairingBlocked)
            #expect(seen.current == events)
            try await harness.client.call(Endpoints.answerPairing, .confirm(code: "1"))
            #expect(try await harness.client.call(Endpoints.pairStatus).code == "042137")
            #expect(try await harness.client.call(Endpoints.nearby).devices.first?.signal == -48)
            let answer = try await harness.post("/v1/pair", json: #"{"seconds":121}"#)
            #expect(answer.error?.code == .invalidRequest)
        }
    }
}
