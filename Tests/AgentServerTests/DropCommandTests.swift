import ControlAPI
import Foundation
import Testing

@testable import synctrain

/// What the dialogue of `drop` says, for what it is told.
struct DropDialogueTests {
    private static let begun = DropDialogue.Input.notice(.waiting(session: 7, directory: "/in", listening: []))
    private static let code = DropDialogue.Input.notice(.code("042137", Sample.phone))

    private func dialogue(_ judge: DropDialogue.Judge = .person, acceptsPaired: Bool = false) -> DropDialogue {
        var dialogue = DropDialogue(judge: judge, acceptsPaired: acceptsPaired, isLarge: false)
        _ = dialogue.take(Self.begun)
        return dialogue
    }

    private func offer(_ peer: DropPeer) -> DropDialogue.Input {
        .notice(.offer(file: "a\u{1b}.txt", size: 2048, peer, present: 0, question: 2))
    }

    private func answers(_ actions: [DropDialogue.Action]) -> [DropAnswer] {
        actions.compactMap { if case .answer(let answer) = $0 { answer } else { nil } }
    }

    private func failure(_ actions: [DropDialogue.Action]) -> ControlError.Code? {
        actions.compactMap { if case .fail(let error) = $0 { error.code } else { nil } }.first
    }

    private let confirmed = [DropAnswer(session: 7, action: .confirm, code: "042137")]
    private let refused = [DropAnswer(session: 7, action: .refuse)]
    private let accepted = [DropAnswer(session: 7, action: .accept, question: 2)]
    private let declined = [DropAnswer(session: 7, action: .decline, question: 2)]

    @Test(
        arguments: [
            ("y", true), ("YES", true), (" y \r", true), ("", false), ("n", false), ("1", nil), ("042137", nil),
        ] as [(String, Bool?)])
    func onlyAYesIsAYes(_ line: String, _ verdict: Bool?) {
        var comparing = dialogue()
        let asked = comparing.take(Self.code)
        #expect(asked.contains(.say("    042 137")))
        #expect(asked.suffix(2) == [.discardInput, .ask("Does the other device show the same digits? [y/N] ")])
        #expect(answers(comparing.take(.line(line))) == (verdict.map { $0 ? confirmed : refused } ?? []))
        var offered = dialogue()
        #expect(offered.take(offer(Sample.nas)).last == .ask("Accept? [y/N] "))
        #expect(answers(offered.take(.line(line))) == (verdict.map { $0 ? accepted : declined } ?? []))
    }

    /// `--yes` takes the files of paired devices, and nothing else; a script that knew the digits wants the file, too.
    @Test(
        arguments: [
            (.person, true, true, "accept"), (.person, true, false, "ask"), (.person, false, true, "ask"),
            (.nobody, true, true, "accept"), (.nobody, true, false, "decline"), (.nobody, false, true, "decline"),
            (.expected("042137"), true, true, "accept"), (.expected("042137"), false, true, "decline"),
            (.expected("042137"), true, false, "decline"), (.input, true, false, "decline"),
        ] as [(DropDialogue.Judge, Bool, Bool, String)])
    func whoIsAsked(_ judge: DropDialogue.Judge, _ yes: Bool, _ isPaired: Bool, _ expected: String) {
        var dialogue = dialogue(judge, acceptsPaired: yes)
        let actions = dialogue.take(offer(isPaired ? Sample.nas : Sample.phone))
        let given = answers(actions).first?.action
        #expect((given?.rawValue ?? "ask") == expected)
        #expect(actions.first { if case .say(let text) = $0 { text.contains("a\\x1b.txt") } else { false } } != nil)
    }

    @Test func whoConfirmedTheDigitsByScriptGetsTheFile() {
        for judge in [DropDialogue.Judge.expected("042-137"), .input] {
            var dialogue = dialogue(judge)
            var given = answers(dialogue.take(Self.code))
            if judge == .input { given = answers(dialogue.take(.line("042 137"))) }
            #expect(given == confirmed)
            #expect(answers(dialogue.take(offer(Sample.phone))) == accepted)
            // The next one needs digits of its own.
            _ = dialogue.take(.notice(.received(file: "a", size: 1, Sample.phone, path: "/in/a", seconds: 1)))
            #expect(answers(dialogue.take(offer(Sample.phone))) == declined)
        }
    }

    @Test func otherDigitsEndIt() {
        var dialogue = dialogue(.expected("042138"))
        let actions = dialogue.take(Self.code)
        #expect(answers(actions) == refused)
        #expect(failure(actions) == .codesDiffer)
    }

    @Test func withNobodyToCompareDigitsAreRefused() {
        var nobody = dialogue(.nobody, acceptsPaired: true)
        #expect(answers(nobody.take(Self.code)) == refused)
        var gone = dialogue()
        _ = gone.take(.inputEnded)
        let actions = gone.take(Self.code)
        #expect(answers(actions) == refused)
        #expect(failure(actions) == .confirmationNeeded)
        #expect(answers(gone.take(offer(Sample.nas))) == declined)
    }

    @Test func aDeviceIsChosenByItsNumber() {
        var dialogue = dialogue()
        let list = DropDialogue.Input.notice(
            .receivers([
                NearbyEntry(name: "nas", address: "tcp://h:1", transport: "tcp", isKnown: true),
                NearbyEntry(name: "kit\u{7}chen", address: "ble://y", transport: "l2cap", signal: -48),
            ]))
        let shown = dialogue.take(list)
        #expect(shown.last == .ask("Number of the device to send to: "))
        #expect(shown.contains { if case .say(let row) = $0 { row.contains("kit\\x07chen") } else { false } })
        for wrong in ["3", "0", "-1", "x", ""] { #expect(answers(dialogue.take(.line(wrong))) == []) }
        #expect(
            answers(dialogue.take(.line(" 2 "))) == [DropAnswer(session: 7, action: .choose, address: "ble://y")])
        var script = self.dialogue(.expected("042137"))
        #expect(failure(script.take(list)) == .invalidRequest)
    }

    /// A login of the page reads what is in folders: it is no way to any other file of the user's.
    @Test(
        arguments: [
            (["photos:2024/a.jpg"], nil, nil), (["/etc/passwd"], nil, .noPermission),
            (["photos:a.jpg", "/home/me/.ssh/id"], nil, .noPermission), ([], .invalidRequest, nil),
            (["/\u{301}x"], nil, .noPermission), (["photos:\u{301}x"], nil, nil),
            (["a.jpg"], .invalidRequest, nil),
            (["photos:" + String(repeating: "a", count: 9000)], .invalidRequest, nil),
            (Array(repeating: "photos:a", count: 1001), .invalidRequest, nil),
        ] as [([String], ControlError.Code?, ControlError.Code?)])
    func whatMayBeSent(_ files: [String], _ refusal: ControlError.Code?, _ inBrowser: ControlError.Code?) throws {
        let request = DropSendRequest(files: files)
        let incoming = IncomingRequest(query: RequestQuery([]), body: try ControlJSON.encode(request))
        #expect(code { _ = try Endpoints.dropSend.request(incoming) } == refusal)
        #expect(code { try request.checkBrowser() } == inBrowser)
    }

    /// What a browser's machine has is sent under a name; a path, or both ways at once, mean nothing.
    @Test(
        arguments: [
            (["a.txt", "ü\\b", ".hidden"], 3, nil), ([""], 1, .invalidRequest), (["."], 1, .invalidRequest),
            ([".."], 1, .invalidRequest), (["a/b"], 1, .invalidRequest), (["/etc/passwd"], 1, .invalidRequest),
            (["a\u{0}b"], 1, .invalidRequest), ([String(repeating: "ä", count: 128)], 1, .invalidRequest),
            ([String(repeating: "a", count: 255)], 1, nil), (["a"], -1, .invalidRequest),
            (["a"], .max, .invalidRequest),
            (["a"], 0, nil), (["a"], 1 << 53 - 1, nil), ([], 1, .invalidRequest),
            (Array(repeating: "a", count: 1001), 1, .invalidRequest),
        ] as [([String], Int64, ControlError.Code?)])
    func whatMayBeProvided(_ names: [String], _ size: Int64, _ refusal: ControlError.Code?) throws {
        var request = DropSendRequest(provided: names.map { ProvidedFile(name: $0, size: size) })
        #expect(code { _ = try Endpoints.dropSend.body(request) } == refusal)
        #expect(code { try request.checkBrowser() } == nil)
        request.files = ["papers:a"]
        #expect(code { _ = try Endpoints.dropSend.body(request) } == .invalidRequest, "one or the other")
    }

    @Test func neitherFilesNorProvidedIsRefused() throws {
        let incoming = IncomingRequest(query: RequestQuery([]), body: Array(#"{"seconds":1}"#.utf8))
        #expect(code { _ = try Endpoints.dropSend.request(incoming) } == .invalidRequest)
    }

    @Test func aPartHasALimit() throws {
        let part = DropPart(session: 1, place: 0, offset: 0, bytes: Array(repeating: 0, count: DropPart.longest + 1))
        #expect(code { _ = try Endpoints.provideDropPart.body(part) } == .tooLarge)
    }

    private func code(_ body: () throws -> Void) -> ControlError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ControlError)?.code
        }
    }

    @Test func whatWasTypedBeforeIsNoAnswer() {
        var dialogue = dialogue()
        #expect(dialogue.take(.line("y")) == [])
        #expect(answers(dialogue.take(Self.code)) == [])
        // A question that is over takes no answer either.
        _ = dialogue.take(.notice(.failed(file: nil, ControlError(.linkLost, "gone"))))
        #expect(answers(dialogue.take(.line("y"))) == [])
    }

    @Test func theEndIsSaid() {
        var dialogue = dialogue()
        #expect(
            dialogue.take(.notice(.received(file: "a", size: 4096, Sample.phone, path: "/in/a\u{1b}", seconds: 2)))
                == [.print("Received /in/a\\x1b from phone, 4.0 KiB in 2.0 s, 2.0 KiB/s.")])
        #expect(
            dialogue.take(.notice(.progress(file: "a", size: 9, Sample.nas, done: 3, bytesPerSecond: 1)))
                == [.progress(file: "a", done: 3, total: 9, bytesPerSecond: 1, peer: "from nas by tcp")])
    }

    @Test(arguments: Sample.drops) func noticesComeBack(_ notice: DropNotice) throws {
        let json = try ControlJSON.encode(notice)
        #expect(try ControlJSON.decode(DropNotice.self, from: json) == notice)
        #expect(String(decoding: json, as: UTF8.self).contains(#""type":"\#(notice.type)""#))
        #expect(ControlJSON.error(inLine: json) == nil)
    }

    @Test(arguments: [
        "{}", #"{"type":"nothing"}"#, #"{"type":"code"}"#, #"{"type":"offer","file":"a","size":"b"}"#,
        #"{"type":"done"}"#, #"{"type":"received","file":"a","size":1,"peer":{"address":"x","transport":"y"}}"#,
    ])
    func othersAreNone(_ json: String) {
        #expect(throws: ControlError.self) { try ControlJSON.decode(DropNotice.self, from: Array(json.utf8)) }
    }
}
