import Testing

@testable import FolderScanner

/// Golden cases by Python's `unicodedata`; all characters and 200,000 random strings were compared with it when the
/// table was made.
@Suite struct NormalFormTests {
    @Test(arguments: [
        "", "plain", "é", "Ünïcödé", "日本語", "한글", "각", "\u{1100}", "\u{1161}", "\u{11A8}", "각\u{11A8}",
        "q\u{323}\u{307}", "\u{1EAD}x", "\u{301}", "\u{1100}\u{1176}", "👩‍👩‍👧",
        "\u{10047}\u{306}", "\u{E006A}\u{30C}\u{33E}\u{309}", "\u{0928}\u{093F}",
    ])
    func composed(text: String) { #expect(NormalForm.isComposed(text)) }

    @Test(arguments: [
        "e\u{301}", "\u{1100}\u{1161}", "\u{AC00}\u{11A8}", "\u{BDD4}\u{11B3}", "q\u{307}\u{323}", "\u{E4}\u{323}",
        "a\u{302}\u{323}", "\u{212B}", "\u{2126}", "\u{F900}", "\u{2F800}", "\u{0344}", "\u{0958}", "\u{0928}\u{093C}",
        "\u{11099}\u{110BA}", "x/e\u{301}", "\u{304B}\u{3099}", "a\u{328}\u{301}",
    ])
    func decomposed(text: String) { #expect(!NormalForm.isComposed(text)) }

    @Test func theTableIsWhole() {
        #expect(CompositionTable.pairs.split(whereSeparator: \.isWhitespace).count == 941)
        #expect(CompositionTable.replaced.split(whereSeparator: \.isWhitespace).count == 73)
    }
}
