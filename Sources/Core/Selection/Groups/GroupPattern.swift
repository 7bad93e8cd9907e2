import Phrases

/// A pattern such as `album/**/*.{jpg,txt}`: files of one directory whose names differ only in what the braces give belong
/// together.
struct GroupPattern: Hashable, Sendable {
    /// How a member is called: what comes before and after its stem, as bytes.
    private struct Form: Hashable {
        var prefix: [UInt8]
        /// Nil where the form is the whole name.
        var suffix: [UInt8]?

        /// What the star takes of `name`, at least one byte; nil if the name has another form.
        func stem(of name: Substring.UTF8View) -> [UInt8]? {
            guard let suffix else { return name.elementsEqual(prefix) ? [] : nil }
            guard name.count > prefix.count + suffix.count, name.starts(with: prefix),
                name.suffix(suffix.count).elementsEqual(suffix)
            else { return nil }
            return Array(name.dropFirst(prefix.count).dropLast(suffix.count))
        }

        func name(ofStem stem: [UInt8]) -> String {
            String(decoding: suffix.map { prefix + stem + $0 } ?? prefix, as: UTF8.self)
        }
    }

    private enum Component: Hashable {
        /// `**`: any number of directories, none among them.
        case any
        /// What stands between the stars.
        case pieces([[UInt8]])

        func matches(_ name: Substring.UTF8View) -> Bool {
            guard case .pieces(let pieces) = self, let first = pieces.first, let last = pieces.last else { return true }
            guard pieces.count > 1 else { return name.elementsEqual(first) }
            guard name.count >= first.count + last.count, name.starts(with: first),
                name.suffix(last.count).elementsEqual(last)
            else { return false }
            // Each piece at the first place where it fits leaves the most for the others.
            var rest = Array(name.dropFirst(first.count).dropLast(last.count))[...]
            for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
                guard
                    let start = rest.indices.first(where: {
                        rest.count - ($0 - rest.startIndex) >= piece.count && rest[$0...].starts(with: piece)
                    })
                else { return false }
                rest = rest[(start + piece.count)...]
            }
            return true
        }
    }

    private let directories: [[Component]]
    private let forms: [Form]

    init(_ text: String) throws(GroupPatternError) {
        let shown = text.prefix(80)
        func refusal(_ reason: Phrase) -> GroupPatternError {
            GroupPatternError(text: Phrase("`\(shown)` is not a group pattern: \(reason)"))
        }
        guard text.utf8.count <= GroupLimits.patternByteCount else {
            throw refusal(Phrase("it has more than \(GroupLimits.patternByteCount) bytes; write several shorter ones"))
        }
        guard
            !text.unicodeScalars.contains(where: {
                $0.value < 0x20 || $0.value == 0x7f || "?[]\\".contains(Character($0))
            })
        else {
            throw refusal(
                Phrase("`?`, `[`, `]`, `\\` and control characters mean nothing in it; `*` stands for any characters"))
        }
        let path = text.utf8.first == PathBytes.slash ? Substring(text.utf8.dropFirst()) : text[...]
        guard let components = Self.split(path) else {
            throw refusal(Phrase("a `{` needs a `}`, and alternatives without `/` or further braces between them"))
        }
        guard components.allSatisfy({ !["", ".", ".."].contains($0) }), let last = components.last,
            path.utf8.first != UInt8(ascii: "!")
        else { throw refusal(Phrase("write a path below the folder, such as `album/*.{jpg,txt}`")) }
        let many = Phrase(
            "its braces stand for more than \(GroupLimits.alternativeCount) names; write several shorter patterns")
        guard let names = Self.alternatives(of: last) else { throw refusal(many) }
        let directory = components.dropLast().joined(separator: "/")
        guard let directories = components.count > 1 ? Self.alternatives(of: directory) : [""] else {
            throw refusal(many)
        }
        var forms: [Form] = []
        for name in names {
            let parts = Self.pieces(name)
            guard parts.count <= 2 else {
                throw refusal(
                    Phrase("a name in it may have one `*`, which stands for what the files' names have in common"))
            }
            let form = Form(prefix: parts[0], suffix: parts.count == 2 ? parts[1] : nil)
            if !forms.contains(form) { forms.append(form) }
        }
        guard Set(forms.map { $0.suffix == nil }).count == 1 else {
            throw refusal(Phrase("either all names that its braces give have a `*`, or none has"))
        }
        guard forms.count > 1 else {
            throw refusal(Phrase("name at least two kinds of file in braces, such as `*.{jpg,txt}`"))
        }
        self.forms = forms
        var compiled: [[Component]] = []
        for directory in directories {
            var components: [Component] = []
            for component in directory.components() {
                let pieces = Self.pieces(component)
                if component == "**" {
                    components.append(.any)
                } else if pieces.dropFirst().dropLast().contains([]) {
                    throw refusal(Phrase("`**` stands for whole directories; write it between two `/`"))
                } else {
                    components.append(.pieces(pieces))
                }
            }
            compiled.append(components)
        }
        self.directories = compiled
    }

    /// What is between the `*`.
    private static func pieces(_ text: some StringProtocol) -> [[UInt8]] {
        text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
    }

    /// The components of a path, at each `/` outside of braces; nil if the braces are not well formed.
    private static func split(_ path: Substring) -> [String]? {
        var components = [""]
        var isInBraces = false
        for character in path.unicodeScalars {
            switch character {
            case "{" where isInBraces, "/" where isInBraces: return nil
            case "}" where !isInBraces: return nil
            case "{": isInBraces = true
            case "}": isInBraces = false
            case "/":
                components.append("")
                continue
            default: break
            }
            components[components.count - 1].unicodeScalars.append(character)
        }
        return isInBraces ? nil : components
    }

    /// All that well-formed braces stand for, each once; nil if that is too much.
    private static func alternatives(of text: String) -> [String]? {
        var all = [""]
        var rest = text.unicodeScalars[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let choices = rest[rest.index(after: open)..<close].split(separator: ",", omittingEmptySubsequences: false)
            guard choices.count * all.count <= GroupLimits.alternativeCount else { return nil }
            let before = Substring(rest[..<open])
            all = all.flatMap { start in choices.map { start + before + Substring($0) } }
            rest = rest[rest.index(after: close)...]
        }
        return all.map { $0 + Substring(rest) }
    }

    // MARK: matching

    /// What of a name makes its group: the stem. The form that leaves the shortest one counts.
    func stem(directory: [Substring], name: Substring) -> [UInt8]? {
        guard let stem = forms.compactMap({ $0.stem(of: name.utf8) }).min(by: { $0.count < $1.count }),
            directories.contains(where: { Self.matches($0, directory) })
        else { return nil }
        return stem
    }

    /// The names with this stem.
    func names(ofStem stem: [UInt8]) -> [String] { forms.map { $0.name(ofStem: stem) } }

    private static func matches(_ pattern: [Component], _ directory: [Substring]) -> Bool {
        // How many of the pattern's components can have been used up by the directories so far.
        var reached = Set([0])
        func skipAny() {
            for position in reached.sorted() {
                var next = position
                while next < pattern.count, pattern[next] == .any {
                    next += 1
                    reached.insert(next)
                }
            }
        }
        skipAny()
        for component in directory {
            var next: Set<Int> = []
            for position in reached where position < pattern.count {
                if pattern[position] == .any {
                    next.insert(position)
                } else if pattern[position].matches(component.utf8) {
                    next.insert(position + 1)
                }
            }
            reached = next
            skipAny()
        }
        return reached.contains(pattern.count)
    }
}
