/// Finds the modules that a Swift file imports.
enum ImportScanner {
    /// The modules named in `import` declarations, whatever attributes and access levels stand before and whichever
    /// submodule or symbol is named after.
    static func modules(in source: String) -> [String] {
        var isInBlockComment = false
        return source.split(whereSeparator: \.isNewline).flatMap { line in
            code(String(line), &isInBlockComment).split(separator: ";").compactMap { module(in: $0) }
        }
    }

    /// The line without its comments.
    private static func code(_ line: String, _ isInBlockComment: inout Bool) -> String {
        var rest = line[...]
        var code = ""
        while !rest.isEmpty {
            if isInBlockComment {
                guard let end = rest.firstRange(of: "*/") else { return code }
                isInBlockComment = false
                rest = rest[end.upperBound...]
            } else {
                let block = rest.firstRange(of: "/*"), line = rest.firstRange(of: "//")
                if let line, block.map({ line.lowerBound <= $0.lowerBound }) ?? true {
                    return code + rest[..<line.lowerBound]
                }
                guard let block else { return code + rest }
                code += rest[..<block.lowerBound]
                isInBlockComment = true
                rest = rest[block.upperBound...]
            }
        }
        return code
    }

    private static func module(in statement: Substring) -> String? {
        let levels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "func", "var", "let", "actor"]
        var words = statement.split(whereSeparator: \.isWhitespace)[...]
        while let word = words.first, word.hasPrefix("@") || levels.contains(word) { words = words.dropFirst() }
        guard words.first == "import" else { return nil }
        words = words.dropFirst()
        if let kind = words.first, kinds.contains(kind) { words = words.dropFirst() }
        return words.first?.split(separator: ".").first.map(String.init)
    }
}
