import ControlAPI

/// Parts of sentences.
enum Words {
    /// `1 file`, `2 files`.
    static func count(_ number: some BinaryInteger, _ noun: String, _ plural: String? = nil) -> String {
        "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// `45 s`, `5 min`, `3 h`, `2 d`.
    static func duration(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// The permission bits as chmod takes them: `0644`.
    static func octal(_ mode: UInt32) -> String { "0" + String(mode & 0o777, radix: 8) }

    /// Bytes as an option takes them, rounded up: `512MiB`.
    static func mebibytes(_ bytes: Int64) -> String {
        let (whole, rest) = max(0, bytes).quotientAndRemainder(dividingBy: 1 << 20)
        return "\(whole + (rest > 0 ? 1 : 0))MiB"
    }

    /// The text with a capital at its beginning, unless that is a name, and a full stop at its end.
    static func sentence(_ text: String) -> String {
        guard let first = text.first else { return text }
        let word = text.prefix { !$0.isWhitespace }
        let isPlain = word.allSatisfy { $0.isLowercase || $0 == "," || $0 == "-" }
        return ended(isPlain ? first.uppercased() + text.dropFirst() : text)
    }

    /// The text with a full stop at its end.
    static func ended(_ text: String) -> String {
        text.isEmpty || [".", "?", "!"].contains(text.suffix(1)) ? text : text + "."
    }

    /// Whatever a text quotes first; nil if it quotes nothing.
    static func quotedCommand(in text: String) -> String? {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.count > 2 ? String(parts[1]) : nil
    }

    /// The first command of this program that a text quotes; nil if it quotes none, or one with a word to fill in.
    static func command(in text: String, program: String) -> String? {
        for part in text.split(separator: "`", omittingEmptySubsequences: false).enumerated() where part.offset % 2 == 1
        {
            guard part.element.hasPrefix("synctrain ") else { continue }
            let words = part.element.split(separator: " ").dropFirst()
            let isComplete = words.allSatisfy { word in
                !(word.count > 1 && word.allSatisfy { $0.isUppercase || $0 == ":" || $0 == "/" })
            }
            return isComplete ? program + part.element.dropFirst("synctrain".count) : nil
        }
        return nil
    }
}
