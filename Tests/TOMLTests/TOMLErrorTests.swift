import Testing

@testable import TOML

/// What TOML 1.0 refuses: where, why, and what to write instead.
@Suite struct TOMLErrorTests {
    private func error(_ bytes: [UInt8], _ limits: TOMLLimits = TOMLLimits()) -> TOMLError? {
        do throws(TOMLError) {
            _ = try TOMLDocument(parsing: bytes, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    /// A text, the error's code, line and column, and words of its message.
    static let mistakes: [(text: String, code: TOMLError.Code, line: Int, column: Int, words: [String])] = [
        // Lines.
        ("a", .unexpected, 1, 2, ["the file ends", "`name = value`"]), ("a\n= 1", .unexpected, 1, 2, ["the line ends"]),
        ("a = 1 b = 2", .unexpected, 1, 7, ["`b`", "start a new line"]), ("[a] b = 1", .unexpected, 1, 5, ["`b`"]),
        ("\n\n  = 1", .unexpected, 3, 3, ["`=`", "a name"]), ("é = 1", .unexpected, 1, 1, ["`é`", "quotes"]),
        ("a = 1\rb = 2", .controlCharacter, 1, 6, ["U+000D"]), ("a = \"é\u{1}\"", .controlCharacter, 1, 7, ["U+0001"]),
        ("# \u{7F}", .controlCharacter, 1, 3, ["U+007F", "remove it"]),
        ("a = '''\n\u{0}'''", .controlCharacter, 2, 1, []),
        ("a = 1 \u{FEFF}", .unexpected, 1, 7, []),
        // Keys.
        ("a. = 1", .unexpected, 1, 4, ["a name"]), (".a = 1", .unexpected, 1, 1, ["`.`"]),
        ("a..b = 1", .unexpected, 1, 3, []),
        ("a b = 1", .unexpected, 1, 3, ["`=` should follow"]), ("\"a = 1", .unterminated, 1, 1, ["`\"`"]),
        ("\"\"\"a\"\"\" = 1", .unexpected, 1, 1, ["one pair"]), ("'''a''' = 1", .unexpected, 1, 1, ["one pair"]),
        ("'a\nb' = 1", .unterminated, 1, 1, ["closing quote"]),
        // Headers.
        ("[a", .unexpected, 1, 3, ["`]`"]), ("[]", .unexpected, 1, 2, ["a name"]),
        ("[a\n]", .unexpected, 1, 3, ["the line ends"]),
        ("[[a]", .unexpected, 1, 5, ["`]]`"]), ("[[a] ]", .unexpected, 1, 5, ["`]]`"]),
        ("[a]]", .unexpected, 1, 4, ["line should end"]),
        ("[ [a]]", .unexpected, 1, 3, []), ("[a.]", .unexpected, 1, 4, []), ("[a=b]", .unexpected, 1, 3, []),
        // Strings.
        ("a = \"b\nc\"", .unterminated, 1, 5, ["closing quote", "`\"`"]), ("a = 'b", .unterminated, 1, 5, ["`'`"]),
        ("\na = \"\"\"b\n\"\"", .unterminated, 2, 5, ["`\"\"\"`"]), ("a = '''b\n", .unterminated, 1, 5, ["`'''`"]),
        ("a = \"\"\"\"\"\"\"\"\"", .unexpected, 1, 13, []), ("a = '''''''''", .unexpected, 1, 13, []),
        (#"a = "\x41""#, .invalidEscape, 1, 6, ["`x`", #"`\\`"#]), (#"a = "\e""#, .invalidEscape, 1, 6, []),
        (#"a = "\ ""#, .invalidEscape, 1, 6, []), ("a = \"b\\\nc\"", .invalidEscape, 1, 7, ["the line ends"]),
        ("a = \"\"\"b \\ c\"\"\"", .invalidEscape, 1, 10, []),
        ("a = \"\"\"\\", .invalidEscape, 1, 8, ["the file ends"]),
        (#"a = "\u12""#, .invalidEscape, 1, 6, ["4 hex digits"]), (#"a = "\uD800""#, .invalidEscape, 1, 6, []),
        (#"a = "\U00110000""#, .invalidEscape, 1, 6, ["8 hex digits"]), (#"a = "\u00g0""#, .invalidEscape, 1, 6, []),
        (#"a = "\u+123""#, .invalidEscape, 1, 6, []),
        // Values.
        ("a =", .unexpected, 1, 4, ["the file ends", "a value"]), ("a = \n1", .unexpected, 1, 5, ["the line ends"]),
        ("a = # b", .unexpected, 1, 5, ["`#`"]), ("a = b", .invalidValue, 1, 5, ["`b`", "quotes"]),
        ("a = True", .invalidValue, 1, 5, []), ("a = truer", .invalidValue, 1, 5, []),
        ("a = Inf", .invalidValue, 1, 5, []),
        ("a = ++1", .invalidValue, 1, 5, []), ("a = -", .invalidValue, 1, 5, []),
        ("a = +-1", .invalidValue, 1, 5, ["`+-1`"]),
        ("a = _1", .invalidValue, 1, 5, []), ("a = .5", .invalidValue, 1, 5, []),
        ("a = 01", .invalidNumber, 1, 5, ["leading zero"]),
        ("a = -00", .invalidNumber, 1, 5, ["leading zero"]), ("a = 03.14", .invalidNumber, 1, 5, ["leading zero"]),
        ("a = 1_", .invalidNumber, 1, 5, ["1_000"]), ("a = 1__0", .invalidNumber, 1, 5, []),
        ("a = 1.", .invalidNumber, 1, 5, []),
        ("a = 1._5", .invalidNumber, 1, 5, []), ("a = 1.5_", .invalidNumber, 1, 5, []),
        ("a = 1_.5", .invalidNumber, 1, 5, []),
        ("a = 1e", .invalidNumber, 1, 5, []), ("a = 1.e5", .invalidNumber, 1, 5, []),
        ("a = 1e5.5", .invalidNumber, 1, 5, []),
        ("a = 1e+-5", .invalidNumber, 1, 5, []), ("a = 1.2.3", .invalidNumber, 1, 5, []),
        ("a = 1a", .invalidNumber, 1, 5, []),
        ("a = 9223372036854775808", .invalidNumber, 1, 5, ["64-bit"]),
        ("a = -9223372036854775809", .invalidNumber, 1, 5, []),
        ("a = 0x", .invalidNumber, 1, 5, ["`0x`"]), ("a = 0x_1", .invalidNumber, 1, 5, []),
        ("a = 0xg", .invalidNumber, 1, 5, []),
        ("a = +0x1", .invalidNumber, 1, 5, ["without a sign"]), ("a = 0o8", .invalidNumber, 1, 5, ["base 8"]),
        ("a = 0b2", .invalidNumber, 1, 5, ["base 2"]), ("a = 0X1", .invalidNumber, 1, 5, []),
        ("a = 0x8000000000000000", .invalidNumber, 1, 5, ["64-bit"]), ("a = 1 000", .unexpected, 1, 7, []),
        // Dates and times.
        ("a = 1979-5-27", .invalidDateTime, 1, 5, ["quotes"]),
        ("a = 1979-13-01", .invalidDateTime, 1, 5, ["`1979-13-01`"]),
        ("a = 1979-00-01", .invalidDateTime, 1, 5, []), ("a = 1979-04-31", .invalidDateTime, 1, 5, []),
        ("a = 1979-02-29", .invalidDateTime, 1, 5, []), ("a = 1900-02-29", .invalidDateTime, 1, 5, []),
        ("a = 1979-05-27T", .invalidDateTime, 1, 5, []), ("a = 1979-05-27T07:32", .invalidDateTime, 1, 5, []),
        ("a = 1979-05-27T24:00:00", .invalidDateTime, 1, 5, []), ("a = 07:60:00", .invalidDateTime, 1, 5, []),
        ("a = 07:32:61", .invalidDateTime, 1, 5, []), ("a = 07:32:00.", .invalidDateTime, 1, 5, []),
        ("a = 7:32:00", .invalidNumber, 1, 5, []), ("a = 07:32:00Z", .invalidDateTime, 1, 5, []),
        ("a = 1979-05-27T07:32:00+24:00", .invalidDateTime, 1, 5, []),
        ("a = 1979-05-27T07:32:00+01", .invalidDateTime, 1, 5, []),
        ("a = 1979-05-27T07:32:00ZZ", .invalidDateTime, 1, 5, []), ("a = 1979-05-27  07:32:00", .unexpected, 1, 17, []),
        // Lists.
        ("a = [1 2]", .unexpected, 1, 8, ["`2`", "`,`"]), ("a = [,]", .unexpected, 1, 6, ["`,`"]),
        ("a = [1,,2]", .unexpected, 1, 8, []),
        ("a = [1,\n2", .unexpected, 2, 2, ["the file ends", "`]`"]), ("a = [}", .unexpected, 1, 6, ["`}`"]),
        ("a = [1}", .unexpected, 1, 7, ["`}`"]), ("a = [\n# b", .unexpected, 2, 4, ["the file ends"]),
        // Inline tables.
        ("a = { b = 1", .unexpected, 1, 12, ["`}`"]), ("a = { b = 1, }", .unexpected, 1, 14, ["`}`"]),
        ("a = { b = 1\n}", .unexpected, 1, 12, ["the line ends", "one line"]), ("a = { b }", .unexpected, 1, 9, []),
        ("a = { b = 1 c = 2 }", .unexpected, 1, 13, []), ("a = { , }", .unexpected, 1, 7, []),
        ("a = { # b\n}", .unexpected, 1, 7, []), ("a = { b = 1, b = 2 }", .duplicate, 1, 14, ["`b`", "line 1"]),
        ("a = { b = 1, b.c = 2 }", .duplicate, 1, 14, []), ("a = { b.c = 1, b = 2 }", .duplicate, 1, 16, []),
        ("a = { b = { c = 1 }, b.d = 2 }", .duplicate, 1, 22, []),
        // What is defined twice.
        ("a = 1\na = 2", .duplicate, 2, 1, ["`a`", "line 1", "remove one"]), ("a = 1\n\"a\" = 2", .duplicate, 2, 1, []),
        ("a = 1\na.b = 2", .duplicate, 2, 1, ["nothing can be added"]), ("a.b = 1\na = 2", .duplicate, 2, 1, []),
        ("[a]\n[a]", .duplicate, 2, 2, ["the table `a`", "line 1"]), ("a = 1\n[a]", .duplicate, 2, 2, []),
        ("a = 1\n[a.b]", .duplicate, 2, 2, []), ("a = 1\n[[a]]", .duplicate, 2, 3, []),
        ("a = []\n[[a]]", .duplicate, 2, 3, []),
        ("a = [{}]\n[a.b]", .duplicate, 2, 2, []), ("a = {}\n[a]", .duplicate, 2, 2, []),
        ("a = {}\n[a.b]", .duplicate, 2, 2, []),
        ("a = {}\na.b = 1", .duplicate, 2, 1, []), ("a.b = 1\n[a]", .duplicate, 2, 2, []),
        ("a.b = 1\n[[a]]", .duplicate, 2, 3, []),
        ("a.b.c = 1\n[a.b]", .duplicate, 2, 4, ["`b`"]), ("[a]\nb = 1\n[a.b]", .duplicate, 3, 4, ["line 2"]),
        ("[a.b]\nx = 1\n[a]\nb.y = 2", .duplicate, 4, 1, ["the table `b`"]), ("[a]\n[[a]]", .duplicate, 2, 3, []),
        ("[a.b]\n[[a]]", .duplicate, 2, 3, []), ("[[a]]\n[a]", .duplicate, 2, 2, ["`[[a]]`"]),
        ("[[a.b]]\n[a]\nb.c = 1", .duplicate, 3, 1, []),
        ("[[a]]\nb = 1\n[a.b]", .duplicate, 3, 4, []), ("[[a]]\n[a.b]\n[[a.b]]", .duplicate, 3, 5, []),
        ("[a]\nb.c = 1\n[a.b]", .duplicate, 3, 4, []), ("[a.b]\n[a]\nb.c = 1\n[a.b]", .duplicate, 3, 1, []),
    ]

    @Test(arguments: mistakes.indices) func mistakesAreNamed(_ index: Int) {
        let (text, code, line, column, words) = Self.mistakes[index]
        guard let error = error(Array(text.utf8)) else {
            Issue.record("\(text) is taken")
            return
        }
        #expect(error.code == code, "\(text): \(error)")
        #expect(error.position == TOMLPosition(line: line, column: column), "\(text): \(error)")
        for word in words { #expect(error.description.contains(word), "\(text): \(error)") }
        #expect(!error.cause.english.isEmpty && !error.remedy.english.isEmpty)
    }

    @Test(
        arguments: [
            ([0x61, 0x0A, 0xC3, 0xA9, 0xFF], 2, 2), ([0xC3], 1, 1), ([0xC0, 0x80], 1, 1), ([0xED, 0xA0, 0x80], 1, 1),
            ([0xFF, 0xFE, 0x61, 0x00], 1, 1),
        ] as [([UInt8], Int, Int)])
    func bytesThatAreNotUTF8(bytes: [UInt8], line: Int, column: Int) {
        #expect(error(bytes)?.code == .notUTF8)
        #expect(error(bytes)?.position == TOMLPosition(line: line, column: column))
    }

    @Test func limitsHold() {
        func code(_ text: String, _ limits: TOMLLimits) -> TOMLError.Code? { error(Array(text.utf8), limits)?.code }
        #expect(code("a = 1", TOMLLimits(byteCount: 5)) == nil)
        #expect(code("a = 12", TOMLLimits(byteCount: 5)) == .tooLarge)
        #expect(code("a = [1, 2]", TOMLLimits(itemCount: 4)) == nil)
        #expect(code("a = [1, 2, 3]", TOMLLimits(itemCount: 4)) == .tooLarge)
        #expect(code("[a]\n[b]\n[c]", TOMLLimits(itemCount: 2)) == .tooLarge)
        for text in [
            "a = [[[1]]]", "[a.b.c]\nd = 1", "a.b.c.d = 1", "[a.b]\nc = [1]", "a = {b.c = [1]}", "[[a.b]]\nc.d = 1",
            "[a.b.c]",
        ] {
            #expect(code(text, TOMLLimits(depth: 3)) == nil, "\(text)")
            #expect(code(text, TOMLLimits(depth: 2)) == .tooDeep, "\(text)")
        }
        #expect(code("a = '\\u0000'", TOMLLimits(allowsNull: false)) == nil)
        #expect(code("a = \"\\u0000\"", TOMLLimits(allowsNull: false)) == .invalidEscape)
        #expect(code("\"\\U00000000\" = 1", TOMLLimits(allowsNull: false)) == .invalidEscape)
    }

    /// Depth is what would overflow the stack: in every form that nests.
    @Test(
        arguments: [
            "a = " + String(repeating: "[", count: 100_000), "a = " + String(repeating: "{a=", count: 100_000),
            String(repeating: "a.", count: 100_000) + "a = 1", "[" + String(repeating: "a.", count: 100_000) + "a]",
            "[[" + String(repeating: "a.", count: 100_000) + "a]]",
        ])
    func deepTextsAreRefused(_ text: String) { #expect(error(Array(text.utf8))?.code == .tooDeep) }
}
