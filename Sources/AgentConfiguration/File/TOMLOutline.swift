/// Where things stand in a TOML text: headers, keys and values by offset and line.
///
/// TOMLKit reads values but knows no positions. This finds positions but understands no values: it expects a text that
/// TOMLKit has taken, and on any other text it ends early instead of failing.
struct TOMLOutline: Equatable {
    struct Entry: Equatable {
        /// The dotted key, its parts unquoted.
        var keys: [String]
        var line: Int
        var value: Range<Int>
        /// Of an array, its elements.
        var elements: [Range<Int>] = []
        /// The comments inside the value, from `#` to the end of their lines.
        var comments: [Range<Int>] = []
    }

    struct Table: Equatable {
        /// Empty for what stands before the first header.
        var keys: [String]
        /// Written `[[…]]`.
        var isElement: Bool
        var line: Int
        /// The offset at which the header's line starts.
        var start: Int
        /// The offset after the header.
        var headerEnd: Int
        var entries: [Entry] = []

        /// The offset after the last thing of this table that is no comment.
        var contentEnd: Int { entries.last?.value.upperBound ?? headerEnd }
    }

    private(set) var tables: [Table]

    init(_ bytes: [UInt8]) {
        var scanner = TOMLScanner(bytes)
        tables = scanner.scan()
    }

    /// The tables `[[name]]`, in order.
    func elements(_ name: String) -> [Table] { tables.filter { $0.isElement && $0.keys == [name] } }

    /// The line of the setting `keys`, or of what comes nearest to it: a table around it or below it.
    func line(of keys: [String]) -> Int {
        for length in stride(from: keys.count, to: 0, by: -1) {
            let wanted = keys.prefix(length)
            for table in tables where !table.isElement {
                if let entry = table.entries.first(where: { (table.keys + $0.keys).starts(with: wanted) }) {
                    return entry.line
                }
            }
            if let table = tables.first(where: { $0.keys.starts(with: wanted) }) { return table.line }
        }
        return 1
    }

    /// The line of `key` in the table `[[name]]` with this index, or of its header.
    func line(of key: String, in name: String, index: Int) -> Int {
        let found = elements(name)
        guard found.indices.contains(index) else { return line(of: [name]) }
        return found[index].entries.first { $0.keys.first == key }?.line ?? found[index].line
    }
}

/// One walk over a TOML text.
struct TOMLScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var elements: [Range<Int>] = []
    private var comments: [Range<Int>] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    mutating func scan() -> [TOMLOutline.Table] {
        var tables = [TOMLOutline.Table(keys: [], isElement: false, line: 1, start: position, headerEnd: position)]
        while position < bytes.count {
            let lineStart = position
            skipBlanks()
            guard let byte = current else { break }
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): advance()
            case UInt8(ascii: "#"): skipToLineEnd()
            case UInt8(ascii: "["):
                let headerLine = line
                advance()
                let isElement = current == UInt8(ascii: "[")
                if isElement { advance() }
                let keys = scanKeys(until: UInt8(ascii: "]"))
                advance()
                if isElement { advance() }
                tables.append(
                    TOMLOutline.Table(
                        keys: keys, isElement: isElement, line: headerLine, start: lineStart, headerEnd: position))
                skipToLineEnd()
            default:
                let entryLine = line
                let keys = scanKeys(until: UInt8(ascii: "="))
                guard current == UInt8(ascii: "=") else {
                    skipToLineEnd()
                    continue
                }
                advance()
                skipBlanks()
                elements = []
                comments = []
                let start = position
                scanValue(depth: 0)
                tables[tables.count - 1].entries.append(
                    TOMLOutline.Entry(
                        keys: keys, line: entryLine, value: start..<position, elements: elements, comments: comments))
                skipToLineEnd()
            }
        }
        return tables
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func advance() {
        guard let byte = current else { return }
        if byte == UInt8(ascii: "\n") { line += 1 }
        position += 1
    }

    private mutating func skipBlanks() {
        while let byte = current, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { advance() }
    }

    private mutating func skipToLineEnd() {
        while let byte = current, byte != UInt8(ascii: "\n") { advance() }
        advance()
    }

    /// Keys up to `end`, which is left unread, or the end of the line.
    private mutating func scanKeys(until end: UInt8) -> [String] {
        var keys: [String] = []
        while let byte = current, byte != end, byte != UInt8(ascii: "\n") {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "."), UInt8(ascii: "\r"): advance()
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                let start = position
                scanString()
                keys.append(text(start + 1..<max(start + 1, position - 1)))
            default:
                let start = position
                while let byte = current, byte != end, !" .\t\r\n\"'".utf8.contains(byte) { advance() }
                keys.append(text(start..<position))
            }
        }
        return keys
    }

    private mutating func scanValue(depth: Int) {
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): scanString()
        case UInt8(ascii: "["), UInt8(ascii: "{"): scanCollection(depth: depth)
        default:
            let start = position
            while let byte = current, !",]}#\n\r".utf8.contains(byte) { advance() }
            while position > start,
                bytes[position - 1] == UInt8(ascii: " ") || bytes[position - 1] == UInt8(ascii: "\t")
            {
                position -= 1
            }
        }
    }

    /// An array or an inline table. Only the elements of an outermost array are noted.
    private mutating func scanCollection(depth: Int) {
        let isArray = current == UInt8(ascii: "[")
        let end = isArray ? UInt8(ascii: "]") : UInt8(ascii: "}")
        // TOMLKit refuses more than 256 levels, so the recursion is bounded; this holds for any other text.
        guard depth < 300 else {
            position = bytes.count
            return
        }
        advance()
        while let byte = current {
            switch byte {
            case end:
                advance()
                return
            case UInt8(ascii: "#"):
                let start = position
                while let byte = current, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { advance() }
                comments.append(start..<position)
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: ","):
                advance()
            default:
                if !isArray {
                    _ = scanKeys(until: UInt8(ascii: "="))
                    advance()
                    skipBlanks()
                }
                let start = position
                scanValue(depth: depth + 1)
                guard position > start else {
                    // A closing bracket of the other kind: no TOML.
                    position = bytes.count
                    return
                }
                if isArray, depth == 0 { elements.append(start..<position) }
            }
        }
    }

    private mutating func scanString() {
        guard let quote = current else { return }
        let isBasic = quote == UInt8(ascii: "\"")
        let isMultiline = bytes[position...].starts(with: [quote, quote, quote])
        for _ in 0..<(isMultiline ? 3 : 1) { advance() }
        while let byte = current {
            if isBasic, byte == UInt8(ascii: "\\") {
                advance()
                advance()
            } else if byte != quote {
                guard isMultiline || byte != UInt8(ascii: "\n") else { return }
                advance()
            } else if !isMultiline {
                advance()
                return
            } else {
                // Up to five quotes may end it: two of its content and the three that close.
                var count = 0
                while current == quote, count < 5 {
                    advance()
                    count += 1
                }
                if count >= 3 { return }
            }
        }
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
