/// A command line up to the cursor, as a shell would read it. Pure.
struct TypedLine: Equatable, Sendable {
    enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }

    /// How the word at the cursor is quoted there.
    enum Quote: Equatable, Sendable { case none, single, double, dollar }

    /// More is no line that anybody types.
    static let byteLimit = 1 << 16

    /// The words before the cursor's; the first is the program.
    var words: [String] = []
    /// What of the word at the cursor stands before it, without quotes.
    var current = ""
    var quote = Quote.none
    /// So many characters of `current` are not what bash replaces: it begins a word at any of COMP_WORDBREAKS.
    var kept = 0

    init(words: [String], current: String) {
        self.words = words
        self.current = current
    }

    /// - Parameter breaks: what ends a word for bash's completion, though not for bash; empty for others.
    init(_ text: String, shell: Shell, breaks: String = "") {
        var isWord = false
        var characters = Array(text.unicodeScalars.prefix(Self.byteLimit))[...]
        var scalars = String.UnicodeScalarView()
        while let scalar = characters.popFirst() {
            switch quote {
            case .none:
                switch scalar {
                case " ", "\t", "\n":
                    if isWord { words.append(String(scalars)) }
                    (isWord, scalars, kept) = (false, .init(), 0)
                    continue
                case "'": quote = .single
                case "\"": quote = .double
                case "$" where characters.first == "'" && shell != .fish:
                    characters.removeFirst()
                    quote = .dollar
                case "\\":
                    guard let next = characters.popFirst() else { break }
                    if shell == .fish, let meant = Self.escapes[next] {
                        scalars.append(meant)
                    } else if next != "\n" {
                        scalars.append(next)
                    }
                default:
                    scalars.append(scalar)
                    if breaks.unicodeScalars.contains(scalar) { kept = scalars.count }
                }
                if quote != .none { kept = breaks.isEmpty ? 0 : scalars.count }
            case .single:
                if scalar == "'" {
                    close(&scalars, breaks)
                } else if scalar == "\\", shell == .fish, let next = characters.first, next == "'" || next == "\\" {
                    scalars.append(characters.removeFirst())
                } else {
                    scalars.append(scalar)
                }
            case .double:
                if scalar == "\"" {
                    close(&scalars, breaks)
                } else if scalar == "\\", let next = characters.first, "\"\\$`\n".unicodeScalars.contains(next) {
                    characters.removeFirst()
                    if next != "\n" { scalars.append(next) }
                } else {
                    scalars.append(scalar)
                }
            case .dollar:
                if scalar == "'" {
                    close(&scalars, breaks)
                } else if scalar == "\\", let character = Self.octal(&characters) {
                    scalars.append(character)
                } else if scalar == "\\", let next = characters.popFirst() {
                    scalars.append(Self.escapes[next] ?? next)
                } else {
                    scalars.append(scalar)
                }
            }
            isWord = true
        }
        current = String(scalars)
    }

    private mutating func close(_ scalars: inout String.UnicodeScalarView, _ breaks: String) {
        quote = .none
        kept = breaks.isEmpty ? 0 : scalars.count
    }

    /// Takes up to three octal digits from `rest` and returns their character; nil if there are none.
    private static func octal(_ rest: inout ArraySlice<UnicodeScalar>) -> UnicodeScalar? {
        let digits = rest.prefix(3).prefix { ("0"..."7").contains($0) }
        guard let value = UInt8(String(String.UnicodeScalarView(digits)), radix: 8) else { return nil }
        rest.removeFirst(digits.count)
        return UnicodeScalar(value)
    }

    private static let escapes: [UnicodeScalar: UnicodeScalar] = ["n": "\n", "t": "\t", "r": "\r", "e": "\u{1B}"]

    /// What bash is to put in the place of the word's end for `word`; nil where that is not the word's beginning.
    func replacement(by word: String) -> String? {
        let whole = word.unicodeScalars
        guard whole.starts(with: current.unicodeScalars.prefix(kept)) else { return nil }
        let end = whole.dropFirst(kept)
        switch quote {
        case .single: return Substring(end).replacingScalars(["'": #"'\''"#])
        case .double:
            // Between these quotes a `!` takes in a line of the history, and no backslash keeps it from that.
            return Substring(end).replacingScalars(Self.inDoubleQuotes)
        case .dollar: return Self.dollar(end)
        case .none:
            guard end.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
                return Self.escaping(end) { !Self.isPlain($0) }
            }
            return "$'" + Self.dollar(end) + "'"
        }
    }

    private static let inDoubleQuotes: [Unicode.Scalar: String] = [
        "\"": #"\""#, "\\": #"\\"#, "$": #"\$"#, "`": #"\`"#, "!": #""'!'""#,
    ]

    private static func isPlain(_ scalar: UnicodeScalar) -> Bool {
        scalar.value >= 0x80 || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
            || ("0"..."9").contains(scalar)
            || "-_./:,+%@=".unicodeScalars.contains(scalar)
    }

    private static func escaping(_ scalars: Substring.UnicodeScalarView, _ needs: (UnicodeScalar) -> Bool) -> String {
        var text = ""
        for scalar in scalars {
            if needs(scalar) { text.unicodeScalars.append("\\") }
            text.unicodeScalars.append(scalar)
        }
        return text
    }

    private static func dollar(_ scalars: Substring.UnicodeScalarView) -> String {
        var text = ""
        for scalar in scalars {
            switch scalar {
            case "\n": text += #"\n"#
            case "\t": text += #"\t"#
            case "\r": text += #"\r"#
            case "'", "\\": text += "\\" + String(scalar)
            // The history is looked up before the shell reads these quotes.
            case _ where scalar.value < 0x20 || scalar.value == 0x7F || scalar == "!":
                let digits = String(scalar.value, radix: 8)
                text += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
