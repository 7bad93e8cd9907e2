/// The code of a Swift file, without its comments and the words of its texts.
enum SourceCode {
    private enum Context: Equatable {
        case code
        /// Code within a text; how many parentheses are open in it.
        case interpolation(Int)
        case lineComment
        /// How many are open: they nest.
        case comment(Int)
        case text(isMultiline: Bool)
    }

    /// The source with spaces in place of comments and of texts; code in `\(…)` stays, and so does every line.
    static func code(_ source: String) -> String {
        let bytes = Array(source.utf8)
        var code: [UInt8] = []
        code.reserveCapacity(bytes.count)
        var contexts: [Context] = [.code]
        var index = 0
        func starts(_ text: StaticString) -> Bool {
            guard index + text.utf8CodeUnitCount <= bytes.count else { return false }
            return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[index + $0] == text.utf8Start[$0] }
        }
        func skip(_ count: Int) {
            for byte in bytes[index..<min(index + count, bytes.count)] {
                code.append(byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " "))
            }
            index += count
        }
        while index < bytes.count, let context = contexts.last {
            switch context {
            case .code, .interpolation:
                if starts("//") {
                    contexts.append(.lineComment)
                    skip(2)
                } else if starts("/*") {
                    contexts.append(.comment(1))
                    skip(2)
                } else if starts("\"\"\"") {
                    contexts.append(.text(isMultiline: true))
                    skip(3)
                } else if starts("\"") {
                    contexts.append(.text(isMultiline: false))
                    skip(1)
                } else {
                    if case .interpolation(let depth) = context {
                        if starts(")"), depth == 1 {
                            contexts.removeLast()
                            skip(1)
                            continue
                        }
                        if starts("(") { contexts[contexts.count - 1] = .interpolation(depth + 1) }
                        if starts(")") { contexts[contexts.count - 1] = .interpolation(depth - 1) }
                    }
                    code.append(bytes[index])
                    index += 1
                }
            case .lineComment:
                if starts("\n") { contexts.removeLast() }
                skip(1)
            case .comment(let depth):
                if starts("/*") {
                    contexts[contexts.count - 1] = .comment(depth + 1)
                    skip(2)
                } else if starts("*/") {
                    contexts.removeLast()
                    if depth > 1 { contexts.append(.comment(depth - 1)) }
                    skip(2)
                } else {
                    skip(1)
                }
            case .text(let isMultiline):
                if starts("\\(") {
                    contexts.append(.interpolation(1))
                    skip(2)
                } else if starts("\\") {
                    skip(2)
                } else if isMultiline ? starts("\"\"\"") : (starts("\"") || starts("\n")) {
                    contexts.removeLast()
                    skip(isMultiline ? 3 : 1)
                } else {
                    skip(1)
                }
            }
        }
        return String(decoding: code, as: UTF8.self)
    }

    /// A part of a file that belongs to one type: its declaration, or an extension of it.
    struct Part: Equatable {
        var type: String
        /// `struct`, `class`, `enum`, `actor`, `protocol` or `extension`.
        var kind: String
        var lineCount: Int
        /// Names of types that stand in it, without those that stand behind a dot.
        var mentions: Set<String>
    }

    /// The parts of `swift format`'s output: what is declared at the beginning of a line.
    static func parts(_ code: String) -> [Part] {
        let declaration =
            /^(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|private|fileprivate|final|indirect|nonisolated) )*(struct|class|enum|actor|protocol|extension|func|let|var|typealias) (\w+)/
        var parts: [Part] = []
        var isWithin = false
        for line in code.split(separator: "\n", omittingEmptySubsequences: false) {
            if let first = line.utf8.first, first != UInt8(ascii: " "), first != UInt8(ascii: "}"),
                let match = line.firstMatch(of: declaration)
            {
                isWithin = !["func", "let", "var", "typealias"].contains(match.output.1)
                if isWithin {
                    parts.append(
                        Part(
                            type: String(match.output.2), kind: String(match.output.1), lineCount: 0, mentions: []))
                }
            }
            guard isWithin, !parts.isEmpty else { continue }
            parts[parts.count - 1].lineCount += 1
            parts[parts.count - 1].mentions.formUnion(typeNames(in: line))
        }
        return parts
    }

    private static func typeNames(in line: Substring) -> [String] {
        var names: [String] = []
        var word: [UInt8] = []
        var before = UInt8(ascii: " ")
        var beforeWord = before
        for byte in line.utf8 + [UInt8(ascii: " ")] {
            let isWordByte =
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: "_")
            if isWordByte {
                if word.isEmpty { beforeWord = before }
                word.append(byte)
            } else if let first = word.first {
                if UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first, beforeWord != UInt8(ascii: ".") {
                    names.append(String(decoding: word, as: UTF8.self))
                }
                word = []
            }
            before = byte
        }
        return names
    }

    /// The stored properties of every struct that a `Mutex` of the file holds, by its name.
    static func lockedFieldCounts(_ code: String) -> [String: Int] {
        let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
        let stored = /^(?:[\w()]+ )*?(?:let|var) ([^{=]*)(=|\{|$)/
        var counts: [String: Int] = [:]
        for match in code.matches(of: /\bMutex(?:<|\()([A-Z]\w*)[>(]/) {
            let name = match.output.1
            guard
                let start = lines.firstIndex(where: { $0.contains("struct \(name) ") || $0.contains("struct \(name):") }
                )
            else { continue }
            let indentation = lines[start].prefix { $0 == " " }
            let body = lines[(start + 1)...].prefix { !$0.hasPrefix(indentation + "}") }
            counts[String(name)] = body.count { line in
                guard line.hasPrefix(indentation + "    "), line.dropFirst(indentation.count + 4).first != " ",
                    !line.contains("static "), let match = line.dropFirst(indentation.count + 4).firstMatch(of: stored)
                else { return false }
                return match.output.2 != "{"
            }
        }
        return counts
    }
}
