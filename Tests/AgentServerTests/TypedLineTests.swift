import Testing

@testable import synctrain

/// What is typed, and what bash is to put in its place.
struct TypedLineTests {
    private static let breaks = " \t\n\"'><=;|&(:"

    @Test(arguments: [
        ("synctrain cat lib:pl", ["synctrain", "cat"], "lib:pl"), ("synctrain  cat  ", ["synctrain", "cat"], ""),
        (#"s 'a b' "c d" e\ f $'g\n' h"#, ["s", "a b", "c d", "e f", "g\n"], "h"), ("", [], ""),
        (#"s 'a"b'"c'd""#, ["s"], #"a"bc'd"#), (#"s "a\$\"\x"#, ["s"], #"a$"\x"#), (#"s a\"#, ["s"], "a"),
        ("s ''", ["s"], ""), ("s '' x", ["s", ""], "x"), ("s ünï", ["s"], "ünï"),
    ])
    func bashReadsItSo(text: String, words: [String], current: String) {
        let line = TypedLine(text, shell: .bash, breaks: Self.breaks)
        #expect(line.words == words)
        #expect(line.current == current)
    }

    @Test(arguments: [
        (#"s a\nb"#, "a\nb"), (#"s a\ b"#, "a b"), (#"s 'a\'b\\c\d"#, #"a'b\c\d"#), (#"s $'x"#, "$x"),
    ])
    func fishReadsItSo(text: String, current: String) {
        #expect(TypedLine(text, shell: .fish).current == current)
    }

    /// bash replaces what stands behind the last of its breaks, or behind an open quote.
    @Test(
        arguments: [
            ("s lib:M", "lib:My Dir/", #"My\ Dir/"#), ("s 'lib:M", "lib:My Dir/", "lib:My Dir/"),
            ("s lib:'M", "lib:My Dir/", "My Dir/"), ("s 'lib:'M", "lib:My Dir/", #"My\ Dir/"#),
            ("s l", "lib:", "lib:"), (#"s lib\:M"#, "lib:My", "lib:My"), ("s 'l", "lib:it's", #"lib:it'\''s"#),
            (#"s "l"#, #"lib:"$(x)`"#, #"lib:\"\$(x)\`"#), (#"s "l"#, "lib:a!!b", #"lib:a"'!'""'!'"b"#),
            ("s $'", "!1\u{301}", "\\0411\u{301}"), ("s lib:", "lib:$(x)", #"\$\(x\)"#),
            ("s lib:", "lib:a\nb'", #"$'a\nb\''"#), ("s $'a", "a\u{1}\\", #"a\001\\"#), ("s lib:x", "other:x", nil),
        ] as [(String, String, String?)])
    func replacements(text: String, word: String, replacement: String?) {
        #expect(TypedLine(text, shell: .bash, breaks: Self.breaks).replacement(by: word) == replacement)
    }

    /// Whatever is offered is, put in its place, read as it is by the shell.
    @Test func everyNameComesBack() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("ab :/'\"\\$`\n\t*?[]{}()&;|<>~#!=äé-\u{301}\u{0D4E}".unicodeScalars)
        for start in ["", "'", "\"", "$'"] {
            for _ in 0..<300 {
                var name = String.UnicodeScalarView()
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    name.append(alphabet.randomElement(using: &random) ?? "a")
                }
                let word = "lib:" + String(name)
                let line = TypedLine("s " + start, shell: .bash, breaks: Self.breaks)
                guard let end = line.replacement(by: word) else { continue }
                let whole = TypedLine("s " + start + end, shell: .bash, breaks: Self.breaks)
                #expect(whole.words == ["s"] && whole.current == word, "\(start) \(word.debugDescription)")
            }
        }
    }

    @Test(
        arguments: [
            ("cat", .path), ("fetch a b", .path), ("cat a", nil), ("folder pause", .folder), ("folder set x", nil),
            ("folder role f", .device), ("need --device", .device), ("need", .folder), ("pause --device x a", .folder),
            ("--home /h cat", .path), ("cat --home /h", .path), ("cat --home", nil), ("drop send", nil),
            ("drop send --to", .device),
            ("pair --folder", .folder), ("config set log.level", .settingValue("log.level")), ("config set", nil),
            ("extraneous resolve --keep mine", .path), ("folder add", nil), ("mount", .folder), ("unmount", nil),
            ("", nil),
            ("zip cat", .path), ("zip cat x", nil), ("cat -- ", .path), ("nonsense", nil), ("scan", .path),
            ("folder", nil),
        ] as [(String, CompletionPlace?)])
    func whatCanStandThere(words: String, place: CompletionPlace?) {
        let found = CompletionPlace.find(words.split(separator: " ").map(String.init), dump: Synctrain._dumpHelp())
        #expect(found.place == place)
        #expect(found.home == (words.contains("--home /h") ? "/h" : nil))
    }
}
