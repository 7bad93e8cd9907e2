import FoundationEssentials
import Phrases
import Testing

@Suite struct PhraseTests {
    private func german(_ texts: String) throws -> Translation {
        try Translation(
            document: Array(#"{"language":"de","name":"Deutsch","decimal":",","texts":{\#(texts)}}"#.utf8))
    }

    @Test func interpolationsAreArguments() {
        let phrase: Phrase = "Waiting for \("nas") to accept \(2) devices."
        #expect(phrase.template == "Waiting for {1} to accept {2} devices.")
        #expect(phrase.arguments == [.text("nas"), .text("2")])
        #expect(phrase.english == "Waiting for nas to accept 2 devices.")
    }

    @Test func joinedTextsAreOne() {
        let phrase: Phrase = "\("a") and \("b"), " + "then \("c") {x} {9}"
        #expect(phrase.template == "{1} and {2}, then {3} {x} {9}")
        #expect(phrase.english == "a and b, then c {x} {9}")
    }

    @Test func translationsReorder() throws {
        let german = try german(#""{1} of {2}":"Von {2} sind es {1}""#)
        #expect(german.text("\(3) of \("nas")") == "Von nas sind es 3")
        #expect(german.text("\(3) in \("nas")") == "3 in nas", "not in the catalogue: English")
    }

    @Test(arguments: [
        (0, "0 Dateien", "0 files"), (1, "1 Datei", "1 file"), (2, "2 Dateien", "2 files"),
        (21, "21 Dateien", "21 files"), (-1, "-1 Dateien", "-1 files"),
    ]) func pluralsFollowTheNumber(count: Int, text: String, english: String) throws {
        let german = try german(#""{1} file":["{1} Datei","{1} Dateien"]"#)
        let phrase = Phrase(count, one: "\(count) file", many: "\(count) files")
        #expect(german.text(phrase) == text)
        #expect(phrase.english == english)
    }

    @Test func phrasesInPhrasesAreTranslatedToo() throws {
        let german = try german(#""{1} file":["{1} Datei","{1} Dateien"],"Needs {1}.":"Braucht {1}.""#)
        let inner = Phrase(1, one: "\(1) file", many: "\(1) files")
        #expect(german.text("Needs \(inner).") == "Braucht 1 Datei.")
        #expect(Phrase("Needs \(inner).").english == "Needs 1 file.")
    }

    @Test func argumentsAreNotTemplates() throws {
        #expect(try german("").text("\("{2}") and \("b")") == "{2} and b")
    }

    @Test func contextsTellApart() throws {
        let german = try german(#""Open":"Offen","verb\u0004Open":"Öffnen""#)
        #expect(german.text("Open") == "Offen")
        #expect(german.text(Phrase("Open", context: "verb")) == "Öffnen")
    }

    @Test(arguments: [
        ("no disk", "No disk.", "no disk.", "Keine Platte!"), ("is it?", "Is it?", "is it?", "is it?"),
        ("/a is gone", "/a is gone.", "/a is gone.", "/a is gone."), ("", "", "", ""),
        ("it, then", "It, then.", "it, then.", "It, then."),
    ]) func sentencesEndInWhateverLanguage(text: String, sentence: String, ended: String, german: String) throws {
        let language = try self.german(#""no disk":"keine Platte!""#)
        let phrase = Phrase(stringLiteral: text)
        #expect(phrase.sentence.english == sentence && phrase.ended.english == ended)
        #expect(language.text(phrase.sentence) == (text == "is it?" ? "Is it?" : german))
        #expect(Phrase("\("a"): \(phrase.ended)").english == "a: \(ended)")
    }

    @Test func listsAreTranslatedPartByPart() throws {
        let language = try german(#""Here.":"Hier.","There.":"Dort.""#)
        let list = Phrase.list(["Here.", "There.", "\("x")"])
        #expect(list.english == "Here., There., x" && language.text(list) == "Hier., Dort., x")
        #expect(Phrase.list([]).english.isEmpty)
    }

    @Test func onlyWhatSaysNoMoreIsVerbatim() {
        let text: Phrase = "\("as it is")"
        #expect(text.isVerbatim && text.sentence.isVerbatim && text.unlessVerbatim == nil)
        let inner: Phrase = "Here."
        let phrase: Phrase = "\(inner)"
        #expect(!phrase.isVerbatim && phrase.ended.unlessVerbatim == phrase.ended)
    }

    @Test func phrasesTravelAsJSON() throws {
        let phrase: Phrase = "\("nas") has \(Phrase(2, one: "\(2) file", many: "\(2) files"))."
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = try encoder.encode(phrase)
        #expect(
            String(decoding: json, as: UTF8.self)
                == #"{"arguments":["nas",{"arguments":["2"],"count":2,"plural":"{1} files","template":"{1} file"}],"#
                + #""template":"{1} has {2}."}"#)
        #expect(try JSONDecoder().decode(Phrase.self, from: json) == phrase)
        #expect(try JSONDecoder().decode(Phrase.self, from: Data(#"{"template":"x"}"#.utf8)) == "x")
    }

    @Test(
        arguments: [
            ("Unknown option '--x'. Did you mean '--y'?", ["--x", "--y"]),
            ("Unknown option ''. Did you mean ''?", ["", ""]),
            ("Unknown option '--x'", nil), ("An Unknown option '--x'. Did you mean '--y'?", nil),
        ] as [(String, [String]?)]) func textsOfOtherProgramsAreRecognised(text: String, arguments: [String]?)
    {
        let form: Phrase = "Unknown option '\("")'. Did you mean '\("")'?"
        #expect(form.matching(text)?.arguments == arguments?.map { .text($0) })
    }

    @Test func theTaskHasALanguage() throws {
        #expect(translated("Done") == "Done")
        Translation.$current.withValue(try german(#""Done":"Fertig""#)) {
            #expect(translated("Done") == "Fertig")
        }
    }
}
