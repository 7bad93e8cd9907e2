import ControlAPI
import Phrases
import Testing

@testable import synctrain

/// The command line in other languages.
@Suite struct LanguageTests {
    private func run(_ language: String, _ arguments: String...) async -> CommandRunResult {
        await Scene(variables: ["LANG": language]).run(arguments)
    }

    @Test(arguments: [
        ("C", "Folders", "Devices"), ("de_AT.UTF-8", "Ordner", "Geräte"), ("nl_NL.UTF-8", "Mappen", "Apparaten"),
        ("fr_FR.UTF-8", "Folders", "Devices"),
    ]) func statusIsInTheLanguageOfTheUser(language: String, folders: String, devices: String) async {
        let result = await run(language, "status")
        #expect(result.code == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains { $0 == folders } && lines.contains { $0 == devices }, "\(result.output)")
    }

    @Test(arguments: ["C", "de_DE.UTF-8", "nl_NL.UTF-8"]) func programsReadEnglish(language: String) async {
        let status = await run(language, "status", "--json")
        #expect(await run("C", "status", "--json").output == status.output)
        let scene = Scene(control: nil, variables: ["LANG": language])
        let error = await scene.run(["status", "--json"])
        #expect(error.errors.contains(#""message":"No agent answers.""#) && error.code == 3)
    }

    /// What the agent says in English, and how it was made, a client shows in its own language.
    @Test func errorsTravelWithTheirTemplate() throws {
        let error = ControlError(.noSuchPath, "\("library"):\("a b"): not found; `synctrain search` " + "finds names")
        let json = try ControlJSON.encode(error)
        #expect(
            String(decoding: json, as: UTF8.self)
                == #"{"code":"no-such-path","message":"library:a b: not found; `synctrain search` finds names","#
                + #""retryable":false,"text":{"arguments":["library","a b"],"#
                + #""template":"{1}:{2}: not found; `synctrain search` finds names"},"type":"error"}"#)
        let read = try ControlJSON.decode(ControlError.self, from: json)
        let german = SpokenLanguage.translation(["LANG": "de_DE.UTF-8"], arguments: [])
        #expect(german.text(read.text) == "library:a b: nicht gefunden; `synctrain search` findet Namen")
        #expect(read == error)
    }

    /// An older agent says the sentence alone, and the message of another library is no template.
    @Test func errorsWithoutATemplateStayAsTheyAre() throws {
        let old = try ControlJSON.decode(
            ControlError.self, from: Array(#"{"code":"failed","message":"It is {1} broken"}"#.utf8))
        #expect(old.message == "It is {1} broken")
        let foreign = ControlError(.failed, message: String("{1}"))
        #expect(foreign.message == "{1}" && foreign.text.arguments == [.text("{1}")])
        #expect(!String(decoding: try ControlJSON.encode(foreign), as: UTF8.self).contains("\"text\""))
    }

    @Test func questionsAreAnsweredInTheLanguage() {
        let german = SpokenLanguage.translation(["LANG": "de_DE.UTF-8"], arguments: [])
        Translation.$current.withValue(german) {
            #expect(Word.isYes("j") && Word.isYes("Ja") && Word.isYes("y") && !Word.isYes("nein") && !Word.isYes(""))
            #expect(Word.isNo("n") && Word.isNo("Nein") && Word.isNo("no") && !Word.isNo("j") && !Word.isNo(""))
        }
        #expect(Word.isYes("yes") && !Word.isYes("j") && Word.isNo("N"))
    }

    @Test func numbersAndTimesFollowTheLanguage() {
        let german = SpokenLanguage.translation(["LANG": "de_DE.UTF-8"], arguments: [])
        let time = "2026-11-21T14:03:05Z"
        #expect(Quantity.size(1536) == "1.5 KiB" && Quantity.time(0.25) == "0.3 s")
        let english = Timestamp.local(time)
        Translation.$current.withValue(german) {
            #expect(Quantity.size(1536) == "1,5 KiB" && Quantity.time(0.25) == "0,3 s" && Quantity.size(20) == "20 B")
            #expect(Quantity.files(1) == "1 Datei" && Quantity.files(0) == "0 Dateien")
            #expect(Timestamp.local(time).hasPrefix("21.11.2026 ") && english.hasPrefix("2026-11-21 "))
            // What is shown can be typed.
            #expect(Timestamp.seconds(typed: Timestamp.precise(time)) == Timestamp.seconds(time))
        }
        #expect(Timestamp.seconds(typed: "21-11-2026 14:03") == Timestamp.seconds(typed: "2026-11-21 14:03"))
        #expect(Timestamp.seconds(typed: "21.11.2026") == Timestamp.seconds(typed: "2026-11-21"))
        #expect(Timestamp.seconds(typed: "21.11.26") == nil)
    }

    @Test func linesOfTheParserAreTranslated() {
        let german = SpokenLanguage.translation(["LANG": "de_DE.UTF-8"], arguments: [])
        Translation.$current.withValue(german) {
            #expect(
                ParserText.shown(
                    "USAGE: x\n\nOPTIONS:\n  -h, --help   Show help information.\n  --c <c>  C. (default: auto)")
                    == "AUFRUF: x\n\nOPTIONEN:\n  -h, --help   Hilfe anzeigen.\n  --c <c>  C. (Vorgabe: auto)")
            #expect(ParserText.shown("DATEIEN SUBCOMMANDS:") == "DATEIEN:")
            #expect(
                ParserText.shown("Error: Unknown option '--x'. Did you mean '--y'?")
                    == "Fehler: Unbekannte Option '--x'. Gemeint ist vielleicht '--y'.")
        }
        #expect(ParserText.shown("USAGE: x") == "USAGE: x")
    }
}
