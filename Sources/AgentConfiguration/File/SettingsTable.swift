import TOMLKit

/// One table of the configuration file, read key by key with errors that say where and what to write.
struct SettingsTable {
    let table: TOMLTable
    /// As written: `[log]`, `[[folder]]`; empty for the top of the file.
    let name: String
    let file: String
    /// The line of a key, and for nil that of the table.
    let lineOfKey: (String?) -> Int

    func line(_ key: String) -> Int { lineOfKey(key) }

    func error(_ code: ConfigurationError.Code, _ key: String, _ message: String) -> ConfigurationError {
        ConfigurationError(code, message, file: file, line: line(key))
    }

    /// Refuses every key that is not in `keys`.
    func allow(_ keys: [String]) throws(ConfigurationError) {
        for key in table.keys where !keys.contains(key) {
            let place = name.isEmpty ? "here" : "in `\(name)`"
            let nearest = keys.map { ($0, Self.editDistance(key.lowercased(), $0)) }.min { $0.1 < $1.1 }
            let advice =
                if let (word, distance) = nearest, distance <= max(1, min(key.count, word.count) / 2) {
                    "did you mean `\(word)`?"
                } else {
                    "known are \(keys.map { "`\($0)`" }.joined(separator: ", "))"
                }
            throw error(.unknownKey, key, "no setting `\(key.prefix(80))` is known \(place); \(advice)")
        }
    }

    func required(_ key: String, _ advice: String) throws(ConfigurationError) -> String {
        guard let text = try string(key) else {
            throw ConfigurationError(
                .missing, "this `\(name)` has no `\(key)`; \(advice)", file: file, line: lineOfKey(nil))
        }
        return text
    }

    func string(_ key: String) throws(ConfigurationError) -> String? {
        guard let value = table[key] else { return nil }
        guard let text = value.string else { throw wrongType(key, value, "a text in quotes: `\(key) = \"…\"`") }
        return text
    }

    func bool(_ key: String) throws(ConfigurationError) -> Bool? {
        guard let value = table[key] else { return nil }
        guard let bool = value.bool else { throw wrongType(key, value, "`true` or `false`, without quotes") }
        return bool
    }

    func int(_ key: String) throws(ConfigurationError) -> Int? {
        guard let value = table[key] else { return nil }
        guard value.type == .int, let number = value.int else {
            throw wrongType(key, value, "a whole number without quotes: `\(key) = 60`")
        }
        return number
    }

    func strings(_ key: String) throws(ConfigurationError) -> [String]? {
        guard let value = table[key] else { return nil }
        let expected = "a list of texts: `\(key) = [\"…\", \"…\"]`"
        guard let array = value.array else { throw wrongType(key, value, expected) }
        var texts: [String] = []
        for index in 0..<array.count {
            guard let text = array[index].string else { throw wrongType(key, array[index], expected, inList: true) }
            texts.append(text)
        }
        return texts
    }

    /// A size, as a text with a unit or as a number of bytes.
    func byteCount(_ key: String) throws(ConfigurationError) -> Int64? {
        guard let value = table[key] else { return nil }
        if let number = value.int, number >= 0 { return Int64(number) }
        let expected = "a size such as `\"512 MiB\"` (KiB MiB GiB TiB KB MB GB TB, or plain bytes)"
        guard value.type == .string || value.type == .int else { throw wrongType(key, value, expected) }
        guard let byteCount = value.string.flatMap(ByteCountText.parse) else {
            throw error(.invalidValue, key, "`\(key)` is not a size; use \(expected)")
        }
        return byteCount
    }

    /// A size as in `byteCount`, or a part of the disk.
    func minimumFree(_ key: String) throws(ConfigurationError) -> MinimumFree? {
        guard let value = table[key], value.type == .string else { return try byteCount(key).map { .byteCount($0) } }
        guard let free = value.string.flatMap(MinimumFree.init(text:)) else {
            throw error(
                .invalidValue, key,
                "`\(key)` is neither a size nor a part of the disk; write it as `\"1 GiB\"` or as `\"1 %\"`")
        }
        return free
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String
    ) throws(ConfigurationError) -> Choice? {
        guard let text = try string(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map { "`\"\($0.rawValue)\"`" }.joined(separator: ", ")
            throw error(.invalidValue, key, "`\(key)` cannot be `\(text.prefix(80))`; write one of \(words)")
        }
        return choice
    }

    private func wrongType(
        _ key: String, _ value: any TOMLValueConvertible, _ expected: String, inList: Bool = false
    ) -> ConfigurationError {
        let type = value.type == .table || value.type == .array ? "\(value.type)" : "value of type \(value.type)"
        return error(.wrongType, key, "\(inList ? "in " : "")`\(key)` is a \(type); write \(expected)")
    }

    /// Levenshtein's distance between two short words.
    static func editDistance(_ left: String, _ right: String) -> Int {
        let left = Array(left.utf8.prefix(40)), right = Array(right.utf8.prefix(40))
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let changed = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(changed, row[j] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
