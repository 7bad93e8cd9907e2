/// What is done to a text once it is in its language: `context` of a phrase that is `{1}`. The page does the same (language.js).
enum SentenceForm: String {
    case ended
    case sentence

    func applied(to text: String) -> String {
        guard let first = text.first else { return text }
        let ended = [".", "?", "!"].contains(text.suffix(1)) ? text : text + "."
        guard self == .sentence else { return ended }
        let word = text.prefix { !$0.isWhitespace }
        let isPlain = word.allSatisfy { $0.isLowercase || $0 == "," || $0 == "-" }
        return isPlain ? first.uppercased() + ended.dropFirst() : ended
    }
}
