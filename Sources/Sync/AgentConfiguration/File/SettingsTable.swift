import Phrases
import Spelling
import TOML

/// One table of the configuration file, read key by key with errors that say where and what to write.
struct SettingsTable {
    let table: TOMLTable
    /// As written: `[log]`, `[[folder]]`; empty for the top of the file.
    let name: String
    let file: String
    /// Where the table begins.
    let line: Int

    /// The line of a key, or of the table where it is missing.
    func line(_ key: String) -> Int { table[key]?.key.position.line ?? line }

    func value(_ key: String) -> TOMLValue? { table[key]?.node.value }

    func error(_ code: ConfigurationError.Code, _ key: String, _ text: Phrase) -> ConfigurationError {
        ConfigurationError(code, text, file: file, line: line(key))
    }

    /// Refuses every key that is not in `keys`.
    func allow(_ keys: [String]) throws(ConfigurationError) {
        for key in table.entries.map(\.key.text) where !keys.contains(key) {
            let advice =
                if let word = NearestWord.find(key, in: keys, share: 2) {
                    Phrase("did you mean `\(word)`?")
                } else {
                    Phrase("known are \(keys.map { "`\($0)`" }.joined(separator: ", "))")
                }
            let shown = key.prefix(80)
            throw error(
                .unknownKey, key,
                name.isEmpty
                    ? Phrase("no setting `\(shown)` is known here; \(advice)")
                    : Phrase("no setting `\(shown)` is known in `\(name)`; \(advice)"))
        }
    }

    func required(_ key: String, _ advice: Phrase) throws(ConfigurationError) -> String {
        guard let text = try string(key) else {
            throw ConfigurationError(
                .missing, "this `\(name)` has no `\(key)`; \(advice)", file: file, line: line)
        }
        return text
    }

    func string(_ key: String) throws(ConfigurationError) -> String? {
        guard let value = value(key) else { return nil }
        guard case .string(let text) = value else {
            throw wrongType(key, value, Phrase("a text in quotes: `\(key) = \"…\"`"))
        }
        return text
    }

    func bool(_ key: String) throws(ConfigurationError) -> Bool? {
        guard let value = value(key) else { return nil }
        guard case .boolean(let bool) = value else {
            throw wrongType(key, value, Phrase("`true` or `false`, without quotes"))
        }
        return bool
    }

    func int(_ key: String) throws(ConfigurationError) -> Int? {
        guard let value = value(key) else { return nil }
        guard case .integer(let number) = value, let number = Int(exactly: number) else {
            throw wrongType(key, value, Phrase("a whole number without quotes: `\(key) = 60`"))
        }
        return number
    }

    func strings(_ key: String) throws(ConfigurationError) -> [String]? {
        guard let value = value(key) else { return nil }
        let expected = Phrase("a list of texts: `\(key) = [\"…\", \"…\"]`")
        guard case .array(let nodes) = value else { throw wrongType(key, value, expected) }
        var texts: [String] = []
        for node in nodes {
            guard case .string(let text) = node.value else {
                throw wrongType("\(key)[\(texts.count)]", at: node.position.line, node.value, expected)
            }
            texts.append(text)
        }
        return texts
    }

    /// A size, as a text with a unit or as a number of bytes.
    func byteCount(_ key: String) throws(ConfigurationError) -> Int64? {
        let expected = Phrase("a size such as `\"512 MiB\"` (KiB MiB GiB TiB KB MB GB TB, or plain bytes)")
        switch value(key) {
        case nil: return nil
        case .integer(let number)? where number >= 0: return number
        case .integer?: break
        case .string(let text)?: if let byteCount = ByteCountText.parse(text) { return byteCount }
        case let value?: throw wrongType(key, value, expected)
        }
        throw error(.invalidValue, key, Phrase("`\(key)` is not a size; use \(expected)"))
    }

    /// A size as in `byteCount`, or a part of the disk.
    func minimumFree(_ key: String) throws(ConfigurationError) -> MinimumFree? {
        guard case .string(let text)? = value(key) else { return try byteCount(key).map { .byteCount($0) } }
        guard let free = MinimumFree(text: text) else {
            throw error(
                .invalidValue, key,
                Phrase("`\(key)` is neither a size nor a part of the disk; write it as `\"1 GiB\"` or as `\"1 %\"`"))
        }
        return free
    }

    /// How often something is done, in seconds.
    func interval(_ key: String) throws(ConfigurationError) -> Int? {
        guard let text = try string(key) else { return nil }
        guard let seconds = IntervalText.parse(text) else {
            throw error(
                .invalidValue, key,
                Phrase(
                    "`\(key)` cannot be `\(text.prefix(80))`; write an interval such as `\"12h\"`, `\"30d\"` or `\"4w\"`, "
                        + "from an hour to ten years"))
        }
        return seconds
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String
    ) throws(ConfigurationError) -> Choice? {
        guard let text = try string(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map { "`\"\($0.rawValue)\"`" }.joined(separator: ", ")
            throw error(.invalidValue, key, Phrase("`\(key)` cannot be `\(text.prefix(80))`; write one of \(words)"))
        }
        return choice
    }

    private func wrongType(
        _ name: String, at line: Int? = nil, _ value: TOMLValue, _ expected: Phrase
    ) -> ConfigurationError {
        ConfigurationError(
            .wrongType, "`\(name)` is \(value.kind); write \(expected)", file: file, line: line ?? self.line(name))
    }
}

extension TOMLValue {
    /// The kind of a value, for messages.
    fileprivate var kind: Phrase {
        switch self {
        case .string: Phrase("a text")
        case .integer(let number): Phrase("the whole number `\(number)`")
        case .float(let number): Phrase("the fraction `\(number)`")
        case .boolean(let bool): "`\(bool)`"
        case .dateTime: Phrase("a date or time")
        case .array: Phrase("a list")
        case .table: Phrase("a group of settings")
        }
    }
}
