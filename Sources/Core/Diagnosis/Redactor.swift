import Trimming

/// Replaces whatever could tell who somebody is or what their files are called by pseudonyms, the same for the same each time.
///
/// Nothing is recognised as secret; what is recognised as harmless stays: words of this program's own vocabulary, numbers, times
/// and versions. Everything else becomes `name-1`, `address-2` and so on. Pure.
package struct Redactor {
    package enum Kind: String, Sendable { case folder, device, name, address, secret }

    private let vocabulary: Set<String>
    private var pseudonyms: [String: String] = [:]
    private var issued: Set<String> = []
    private var counts: [Kind: Int] = [:]
    /// What is replaced wherever it occurs, the longest first.
    private var known: [(text: [Character], pseudonym: String)] = []

    /// - Parameter vocabulary: lower-case words that tell nothing.
    package init(vocabulary: Set<String> = Vocabulary.words) { self.vocabulary = vocabulary }

    /// Has each of `texts`, which name the same, replaced wherever it stands by itself, also where its words are harmless. Empty ones
    /// are ignored.
    package mutating func learn(_ texts: [String], _ kind: Kind) {
        // People and logs name a device by the first group of its id.
        let short = kind == .device ? texts.filter(Self.isDevice).map { String($0.prefix(7)) } : []
        let new = (texts + short).filter { !$0.isEmpty && pseudonyms[$0] == nil }
        guard let first = new.first else { return }
        let earlier = texts.compactMap { pseudonyms[$0] }.first
        let pseudonym = earlier ?? pseudonym(first, kind)
        for text in new { know(text, pseudonym) }
    }

    private mutating func know(_ text: String, _ pseudonym: String) {
        pseudonyms[text] = pseudonym
        known.append((Array(text), pseudonym))
        known.sort { $0.text.count > $1.text.count }
    }

    /// A value that is a name or a path as a whole.
    package mutating func name(_ text: String) -> String {
        guard !text.isEmpty else { return "" }
        if let known = pseudonyms[text] { return known }
        // What a folder's path begins with is known.
        return pieces(Array(text)).map { piece, known in
            if let known { return known }
            return Self.components(String(piece)).map { $0.isEmpty ? "" : pseudonym($0, .name) }.joined(separator: "/")
        }.joined()
    }

    /// A text of one or several lines.
    package mutating func text(_ text: String) -> String {
        var result = ""
        var atom = ""
        for (piece, pseudonym) in pieces(Array(text)) {
            if let pseudonym {
                result += self.atom(atom) + pseudonym
                atom = ""
                continue
            }
            for character in piece {
                if Self.separators.contains(character) || character.isWhitespace || character.isNewline {
                    result += self.atom(atom)
                    result.append(character)
                    atom = ""
                } else {
                    atom.append(character)
                }
            }
        }
        return result + self.atom(atom)
    }

    /// A configuration file: comments are dropped; keys stay.
    package mutating func configuration(_ text: String) -> String {
        var lines: [String] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            let trimmed = line.drop { $0 == " " || $0 == "\t" }
            guard trimmed.first != "#" else { continue }
            guard let equals = trimmed.firstIndex(of: "="), !trimmed.hasPrefix("["),
                trimmed[..<equals].allSatisfy({ $0.isASCII && ($0.isLetter || " -_.".contains($0)) })
            else {
                lines.append(self.text(String(trimmed)))
                continue
            }
            let key = String(trimmed[..<equals])
            let value = String(trimmed[trimmed.index(after: equals)...])
            let isSecret = ["password", "secret", "token", "proxy"].contains { key.contains($0) }
            let isName = Self.nameKeys.contains(key.withoutOuterBlanks)
            lines.append(
                self.text(key) + "="
                    + (isSecret ? " " + pseudonym(value, .secret) : isName ? names(value) : self.text(value)))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: -

    /// Settings whose texts are names as a whole.
    private static let nameKeys: Set<String> = [
        "id", "label", "name", "path", "devices", "device", "folder", "folders", "directory", "cache", "groups",
        "priority", "untrusted",
    ]

    /// The quoted texts of a value as names; the rest as text.
    private mutating func names(_ value: String) -> String {
        var result = ""
        var rest = value[...]
        while let open = rest.firstIndex(where: { $0 == "\"" || $0 == "'" }),
            let close = rest[rest.index(after: open)...].firstIndex(of: rest[open])
        {
            let quote = String(rest[open])
            result += text(String(rest[..<open])) + quote + name(String(rest[rest.index(after: open)..<close])) + quote
            rest = rest[rest.index(after: close)...]
        }
        return result + text(String(rest))
    }

    private static let separators = Set("\"'`()[]{}<>,;=|!?*\\")
    /// Parts of paths that every machine has.
    private static let commonParts: Set<String> = [
        "~", "home", "etc", "usr", "var", "tmp", "run", "dev", "proc", "bin",
    ]

    private mutating func pseudonym(_ text: String, _ kind: Kind) -> String {
        if let known = pseudonyms[text] { return known }
        let count = (counts[kind] ?? 0) + 1
        counts[kind] = count
        let pseudonym = "\(kind.rawValue)-\(count)"
        pseudonyms[text] = pseudonym
        issued.insert(pseudonym)
        return pseudonym
    }

    /// The text cut where something known stands by itself.
    private func pieces(_ text: [Character]) -> [(ArraySlice<Character>, String?)] {
        func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }
        var pieces: [(ArraySlice<Character>, String?)] = []
        var (start, place) = (0, 0)
        while place < text.count {
            let found = known.first { known in
                guard text[place] == known.text[0], text.count - place >= known.text.count,
                    text[place..<place + known.text.count].elementsEqual(known.text)
                else { return false }
                let end = place + known.text.count
                let beginsWord = place == 0 || !isWord(text[place - 1]) || !isWord(known.text[0])
                let endsWord = end == text.count || !isWord(text[end]) || !isWord(text[end - 1])
                return beginsWord && endsWord
            }
            guard let found else {
                place += 1
                continue
            }
            pieces.append((text[start..<place], nil))
            pieces.append((text[place..<place + found.text.count], found.pseudonym))
            place += found.text.count
            start = place
        }
        return pieces + [(text[start...], nil)]
    }

    /// What stands between spaces, quotes and the like.
    private mutating func atom(_ whole: String) -> String {
        guard !whole.isEmpty else { return "" }
        var core = whole[...]
        var end = ""
        while let last = core.last, ".:".contains(last) {
            end = String(last) + end
            core.removeLast()
        }
        let begin = String(core.prefix { $0 == ":" })
        return begin + self.core(String(core.dropFirst(begin.count))) + end
    }

    private mutating func core(_ text: String) -> String {
        if text.isEmpty || issued.contains(text) { return text }
        if let known = pseudonyms[text] { return known }
        if Self.isNumber(text) || Self.isTime(text) || Self.isVersion(text) { return text }
        if let scheme = text.firstRange(of: "://") {
            let word = text[..<scheme.lowerBound]
            let rest = String(text[scheme.upperBound...])
            return "\(isHarmless(word) ? String(word) : "address")://\(pseudonym(rest, .address))"
        }
        if Self.isDevice(text) { return pseudonym(text, .device) }
        let components = Self.components(text)
        if components.count > 1 {
            return components.map { part in
                part.isEmpty || Self.commonParts.contains(part) ? part : pseudonym(part, .name)
            }.joined(separator: "/")
        }
        let parts = text.split(omittingEmptySubsequences: false) { "-._:+#@&%$~^".contains($0) }
        // `--option` and `.file` begin with an empty part.
        if parts.allSatisfy({ $0.isEmpty || isHarmless($0) }) { return text }
        return pseudonym(text, text.contains { $0.isNumber } && text.contains { ".:".contains($0) } ? .address : .name)
    }

    // By bytes: to Characters a `/` with a combining mark behind it is no `/`.
    private static func components(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { String(Substring($0)) }
    }

    private func isHarmless(_ word: Substring) -> Bool { vocabulary.contains(word.lowercased()) }

    /// `12`, `3.5`, `80%`, `512MiB`; no more digits than a size needs.
    private static func isNumber(_ text: String) -> Bool {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard (1...19).contains(digits.count) else { return false }
        var rest = text[digits.endIndex...]
        if rest.first == ".", let next = rest.dropFirst().first, next.isASCII, next.isNumber {
            let fraction = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
            guard fraction.count <= 2, digits.count <= 15 else { return false }
            rest = rest[fraction.endIndex...]
        }
        return ["", "%", "B", "KiB", "MiB", "GiB", "TiB", "ms", "s", "h", "d", "min"].contains(rest)
    }

    /// `2026-11-25T14:51:13.123Z`, `14:51:13`.
    private static func isTime(_ text: String) -> Bool {
        let shape = String(text.map { $0.isASCII && $0.isNumber ? "0" : $0 })
        guard shape.hasPrefix("0000-00-00T00:00:00") else { return shape == "00:00:00" || shape == "0000-00-00" }
        let rest = shape.dropFirst("0000-00-00T00:00:00".count)
        let zone = rest.first == "." ? rest.dropFirst().drop { $0 == "0" } : rest
        return ["", "Z", "+00:00", "-00:00"].contains(zone)
    }

    /// `v1.29.5`, `v1.19.2-ds1`, `v2.1.0-rc.3`: three numbers, which no address has, and what a distributor puts behind them.
    private static func isVersion(_ text: String) -> Bool {
        let halves = text.drop { $0 == "v" }.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: ".", omittingEmptySubsequences: false)
        if halves.count > 1 {
            let letters = halves[1].prefix { $0.isASCII && $0.isLowercase }
            let rest = halves[1].dropFirst(letters.count)
            let digits = rest.first == "." ? rest.dropFirst() : rest
            guard (1...3).contains(letters.count), digits.count <= 2,
                digits.allSatisfy({ $0.isASCII && $0.isNumber })
            else { return false }
        }
        return parts.count == 3
            && parts.allSatisfy { (1...4).contains($0.count) && $0.allSatisfy { $0.isASCII && $0.isNumber } }
    }

    /// At least two groups of seven characters as device ids have.
    private static func isDevice(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.count > 1
            && groups.allSatisfy { group in
                group.count == 7 && group.allSatisfy { $0.isASCII && ($0.isUppercase || ("2"..."7").contains($0)) }
            }
    }
}
