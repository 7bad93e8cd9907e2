import Testing
import Trimming

@Suite struct TrimmingTests {
    @Test(arguments: [
        ("", "", ""), ("a", "a", "a"), ("  a b\t", "a b", "a b"), (" \t ", "", ""),
        // White space that is neither a space nor a tab.
        ("\n a\u{3000}", "a", "\n a\u{3000}"), ("\r\n", "", "\r\n"),
    ])
    func endsGo(_ text: String, _ trimmed: String, _ withoutBlanks: String) {
        #expect(text.trimmed == trimmed)
        #expect(text.withoutOuterBlanks == withoutBlanks)
        #expect(text[...].trimmed == trimmed)
    }

    @Test func onlyTheEndsOfAnyCollectionGo() {
        #expect(Array([0, 0, 1, 0, 2, 0].trimming { $0 == 0 }) == [1, 0, 2])
        #expect([0, 0].trimming { $0 == 0 }.isEmpty)
    }
}
