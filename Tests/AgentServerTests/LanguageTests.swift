import AgentConfiguration
import ControlAPI
import Diagnosis
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

    /// What is wrong with a setting is found out on both sides of the socket, by the same rules.
    @Test(arguments: [
        (["config", "set", "limits.upp", "3"], "Unbekannte Einstellung „limits.upp“. Ist `limits.up` gemeint?"),
        (
            ["folder", "set", "docs", "limits.up=3"],
            "Unbekannte Einstellung „limits.up“. Es ist eine Einstellung des Agenten; "
                + "`synctrain config set limits.up VALUE` verwenden."
        ),
    ]) func aSettingIsRefusedInTheLanguage(_ arguments: [String], _ message: String) async {
        let german = await Scene(variables: ["LANG": "de_DE.UTF-8"]).run(arguments)
        #expect(german.code == 64 && german.errors == "synctrain: \(message)\n", "\(german)")
        let json = await Scene(variables: ["LANG": "de_DE.UTF-8"]).run(arguments + ["--json"]).errors
        #expect(
            json.contains(#""message":"Unknown setting "#) && json.contains(#""template":"Unknown setting "#), "\(json)"
        )
    }

    /// An error of the configuration keeps its place in the file, in every language.
    @Test func whereTheConfigurationIsWrongIsSaidInTheLanguage() {
        let german = SpokenLanguage.translation(["LANG": "de_DE.UTF-8"])
        let error = ConfigurationError(
            .invalidValue, Phrase("`\("up")` is not a size; use \(Phrase("a text"))"), file: "/h/config.toml", line: 7)
        #expect(error.description == "/h/config.toml:7: `up` is not a size; use a text")
        #expect(german.text(error.located) == "/h/config.toml:7: `up` ist keine Größe; erlaubt: ein Text")
    }

    @Test func whatDoctorFindsIsInTheLanguage() async {
        let scene = Scene(control: nil, variables: ["LANG": "de_DE.UTF-8"])
        let result = await scene.run("doctor")
        #expect(
            result.output.contains("Der Agent läuft nicht.") && result.output.contains("  Starten."),
            "\(result.output)")
        #expect(result.output.contains("config.toml ist gültig, mit 0 Ordnern und 0 Geräten."))
        // Programs read English and find beside it how it was made.
        let json = await scene.run("doctor", "--json").output
        #expect(json.contains(#""message":"The agent is not running.""#))
        #expect(json.contains(#""whyText":{"arguments":[],"template":"Nothing is synced."}"#))
    }

    /// Nothing that is found out about a machine has parts that the catalogue does not have.
    @Test func everyFindingOfAMachineIsTranslated() throws {
        let german = SpokenLanguage.translation(["LANG": "de_DE.UTF-8"], arguments: [])
        let kinds: [MachineFacts.File.Kind] = [
            .privateKey, .certificate, .linkKey, .password, .pageCertificate, .controlSocket, .index, .state,
            .configuration,
        ]
        let open = kinds.map { MachineFacts.File($0, path: "/h/x", mode: 0o666, isOwn: true) }
        let foreign = kinds.map { MachineFacts.File($0, path: "/h/x", mode: 0o600, isOwn: false) }
        let gone = kinds.map { MachineFacts.File($0, path: "/h/x", mode: nil, isOwn: true) }
        let disks: [MachineFacts.Disk] = [
            .init(folder: nil, path: "/d", available: 1, total: 9, floor: 5),
            .init(folder: "f", path: "/d", available: 1, total: 9, floor: 5),
            .init(folder: "g", path: "/d", available: nil, total: nil, floor: 5),
            .init(folder: "h", path: "/d", available: 1, total: 9, floor: 5, failure: "EIO"),
            .init(folder: "i", path: "/d", available: 9, total: 9, floor: 5),
        ]
        var findings: [DoctorFinding] = []
        for files in [open, foreign, gone] {
            for configuration in [
                MachineFacts.Configuration.valid(folders: 1, devices: 2), .missing, .broken("x:1: y"),
            ] {
                for isWell in [true, false] {
                    findings +=
                        MachineFacts(
                            program: "synctrain", isAgent: isWell, files: files, configuration: configuration,
                            disks: disks,
                            mounts: .init(hasDevice: isWell, hasHelper: isWell, hasProgram: isWell),
                            openFileLimit: isWell ? 65536 : 256,
                            service: .init(isInstalled: isWell, isEnabled: true, isLingering: isWell),
                            isClockSynchronised: isWell,
                            helpers: [.init(path: "/usr/bin/ffmpeg", package: "ffmpeg", isThere: isWell)]
                        ).findings
                }
            }
        }
        let texts = findings.flatMap { [$0.text, $0.whyText, $0.remedyText].compactMap(\.self) + $0.detailTexts }
        #expect(texts.count > 100)
        for text in Set(texts) where !text.isVerbatim {
            #expect(german.text(text) != text.english, "\(text.english)")
        }
    }

    @Test func whatStatusSaysIsInTheLanguage() throws {
        let german = SpokenLanguage.translation(["LANG": "de_DE.UTF-8"], arguments: [])
        let problem = FolderProblem(path: "a", message: Phrase("\("/f") is missing; mount its disk"))
        let way = DeviceWay(
            address: "tcp://a:1", outcome: DeviceWay.failed,
            message: Phrase("no answer; check that the device is on and that no firewall blocks it"))
        let device = DeviceStatus(
            id: "A-B", name: "nas", isConnected: false, lastError: "\("tcp://a:1"): \(way.phrase ?? "")", ways: [way])
        for json in [try ControlJSON.encode([problem]), try ControlJSON.encode([device])] {
            let text = String(decoding: json, as: UTF8.self)
            #expect(
                text.contains(#""message":"/f is missing; mount its disk""#)
                    || text.contains(#""lastError":"tcp://a:1: no answer"#))
        }
        let read = try ControlJSON.decode([FolderProblem].self, from: try ControlJSON.encode([problem]))
        #expect(read == [problem])
        let devices = try ControlJSON.decode([DeviceStatus].self, from: try ControlJSON.encode([device]))
        #expect(devices == [device])
        Translation.$current.withValue(german) {
            #expect(read[0].phrase.shown == "/f fehlt; den Datenträger einhängen")
            #expect(
                StatusRendering.remark(devices[0])
                    == "tcp://a:1: keine Antwort; prüfen, ob das Gerät eingeschaltet ist und keine Firewall es sperrt")
        }
        #expect(StatusRendering.remark(devices[0]).contains("tcp://a:1: no answer; check"))
        // An older agent says the sentence alone.
        let old = try ControlJSON.decode(FolderProblem.self, from: Array(#"{"path":"a","message":"{1} b"}"#.utf8))
        #expect(old.phrase.english == "{1} b")
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
