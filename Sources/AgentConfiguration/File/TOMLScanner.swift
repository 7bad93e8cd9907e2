/// Why a text is no TOML, and on which line, counted from 1.
struct TOMLSyntaxProblem: Error, Equatable {
    var line: Int
    var message: String
}

/// One walk over a TOML 1.0 text that checks its structure: lines, keys, strings, lists and tables.
///
/// The checks are strict, because TOMLKit's parser aborts the process on some texts that are no TOML (a `[` followed by
/// what is no key, a list closed by `}`, a date cut off): nothing reaches it that has not passed here. Without quotes
/// only whole numbers and truth values pass, as no setting is a date or a fraction. That no key comes twice is left to
/// TOMLKit.
struct TOMLScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var elements: [Range<Int>] = []
    private var comments: [Range<Int>] = []

    /// No setting needs more; the recursion is bounded by it.
    private static let depthLimit = 16

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func scan() throws(TOMLSyntaxProblem) -> [TOMLOutline.Table] {
        try refuseControlCharacters()
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        var tables = [TOMLOutline.Table(keys: [], isElement: false, line: 1, start: position, headerEnd: position)]
        while position < bytes.count {
            let lineStart = position
            skipBlanks()
            switch current {
            case nil, UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "#"): break
            case UInt8(ascii: "["):
                let line = line
                let (keys, isElement) = try scanHeader()
                tables.append(
                    TOMLOutline.Table(
                        keys: keys, isElement: isElement, line: line, start: lineStart, headerEnd: position))
            default: tables[tables.count - 1].entries.append(try scanEntry())
            }
            try finishLine()
        }
        return tables
    }

    // MARK: - Bytes

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func isAt(_ character: Unicode.Scalar) -> Bool { current == UInt8(ascii: character) }

    private mutating func advance() {
        if isAt("\n") { line += 1 }
        position = min(position + 1, bytes.count)
    }

    private mutating func skipBlanks() {
        while isAt(" ") || isAt("\t") { advance() }
    }

    private mutating func skipComment() {
        while let byte = current, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { advance() }
    }

    private func problem(_ message: String) -> TOMLSyntaxProblem { TOMLSyntaxProblem(line: line, message: message) }

    /// What stands at the position, for messages.
    private var found: String {
        guard let byte = current else { return "the file ends" }
        if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { return "the line ends" }
        let character = String(decoding: bytes[position...].prefix(16), as: UTF8.self).prefix(1)
        return "there is `\(character)`"
    }

    private mutating func take(_ character: Unicode.Scalar, _ message: String) throws(TOMLSyntaxProblem) {
        guard isAt(character) else { throw problem("\(found) where \(message)") }
        advance()
    }

    /// None is allowed in TOML, in comments neither; a zero byte would cut the text off for TOMLKit.
    private func refuseControlCharacters() throws(TOMLSyntaxProblem) {
        var line = 1
        for (offset, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "\n"): line += 1
            case UInt8(ascii: "\t"): break
            case UInt8(ascii: "\r") where offset + 1 < bytes.count && bytes[offset + 1] == UInt8(ascii: "\n"): break
            case 0..<0x20, 0x7F:
                throw TOMLSyntaxProblem(line: line, message: "there is a control character (\(byte)); remove it")
            default: break
            }
        }
    }

    // MARK: - Lines

    private mutating func finishLine() throws(TOMLSyntaxProblem) {
        skipBlanks()
        if isAt("#") { skipComment() }
        if isAt("\r") { advance() }
        guard current != nil else { return }
        try take("\n", "the line should end; write what follows on a line of its own")
    }

    private mutating func scanHeader() throws(TOMLSyntaxProblem) -> (keys: [String], isElement: Bool) {
        advance()
        let isElement = isAt("[")
        if isElement { advance() }
        let keys = try scanKeys()
        for _ in 0..<(isElement ? 2 : 1) {
            try take("]", "`\(isElement ? "]]" : "]")` should end the header; write it")
        }
        return (keys, isElement)
    }

    private mutating func scanEntry() throws(TOMLSyntaxProblem) -> TOMLOutline.Entry {
        let line = line
        let keys = try scanKeys()
        try take("=", "`=` should follow the setting's name; write `name = value`")
        skipBlanks()
        elements = []
        comments = []
        let start = position
        try scanValue(depth: 0)
        return TOMLOutline.Entry(
            keys: keys, line: line, value: start..<position, elements: elements, comments: comments)
    }

    private mutating func scanKeys() throws(TOMLSyntaxProblem) -> [String] {
        var keys: [String] = []
        while true {
            skipBlanks()
            let start = position
            if isAt("\"") || isAt("'") {
                try scanString(isInOneLine: true)
                keys.append(text(start + 1..<position - 1))
            } else {
                while let byte = current, Self.isBareKeyByte(byte) { advance() }
                guard position > start else { throw problem("\(found) where a name should stand; write one") }
                keys.append(text(start..<position))
            }
            skipBlanks()
            guard isAt(".") else { return keys }
            advance()
        }
    }

    // MARK: - Values

    private mutating func scanValue(depth: Int) throws(TOMLSyntaxProblem) {
        guard depth < Self.depthLimit else { throw problem("lists are nested too deep; write a plain list") }
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): try scanString(isInOneLine: false)
        case UInt8(ascii: "["): try scanList(depth: depth)
        case UInt8(ascii: "{"): try scanInlineTable(depth: depth)
        default:
            let start = position
            while let byte = current, Self.isBareKeyByte(byte) || "+.:".utf8.contains(byte) { advance() }
            guard position > start else {
                throw problem("\(found) where a value should stand; write one, a text in quotes")
            }
            let word = text(start..<position)
            guard word == "true" || word == "false" || Self.isWholeNumber(word) else {
                throw problem(
                    "`\(word.prefix(40))` is neither a whole number nor `true` or `false`; put quotes around a text")
            }
        }
    }

    private static func isWholeNumber(_ word: String) -> Bool {
        let digits = word.utf8.drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
        return word.utf8.count - digits.count <= 1 && (1...19).contains(digits.count)
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_") }
    }

    /// Only the elements of an outermost list are noted.
    private mutating func scanList(depth: Int) throws(TOMLSyntaxProblem) {
        advance()
        skipBetweenElements()
        while !isAt("]") {
            let start = position
            try scanValue(depth: depth + 1)
            if depth == 0 { elements.append(start..<position) }
            skipBetweenElements()
            guard isAt(",") else { break }
            advance()
            skipBetweenElements()
        }
        try take("]", "`,` or `]` should follow in the list; write one")
    }

    private mutating func skipBetweenElements() {
        while let byte = current {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): advance()
            case UInt8(ascii: "#"):
                let start = position
                skipComment()
                comments.append(start..<position)
            default: return
            }
        }
    }

    private mutating func scanInlineTable(depth: Int) throws(TOMLSyntaxProblem) {
        advance()
        skipBlanks()
        if isAt("}") {
            advance()
            return
        }
        while true {
            _ = try scanKeys()
            try take("=", "`=` should follow the setting's name; write `name = value`")
            skipBlanks()
            try scanValue(depth: depth + 1)
            skipBlanks()
            guard isAt(",") else { break }
            advance()
        }
        try take("}", "`,` or `}` should follow; write one")
    }

    // MARK: - Strings

    private mutating func scanString(isInOneLine: Bool) throws(TOMLSyntaxProblem) {
        guard let quote = current else { return }
        let isBasic = quote == UInt8(ascii: "\"")
        let startLine = line
        if bytes[position...].starts(with: [quote, quote, quote]) {
            guard !isInOneLine else { throw problem("a name needs one pair of quotes; remove the others") }
            for _ in 0..<3 { advance() }
            var quotes = 0
            while let byte = current {
                if byte == quote {
                    quotes += 1
                    advance()
                    // Up to five quotes may end it: two of its content and the three that close.
                    if quotes == 5 { return }
                } else if quotes >= 3 {
                    return
                } else {
                    quotes = 0
                    if isBasic, byte == UInt8(ascii: "\\") { try scanEscape(isMultiline: true) } else { advance() }
                }
            }
            if quotes >= 3 { return }
        } else {
            advance()
            while let byte = current, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
                if byte == quote {
                    advance()
                    return
                }
                if isBasic, byte == UInt8(ascii: "\\") { try scanEscape(isMultiline: false) } else { advance() }
            }
        }
        throw TOMLSyntaxProblem(line: startLine, message: "the text that begins here has no closing quote; add it")
    }

    private mutating func scanEscape(isMultiline: Bool) throws(TOMLSyntaxProblem) {
        advance()
        let digitCount: Int
        switch current {
        case UInt8(ascii: "u"): digitCount = 4
        case UInt8(ascii: "U"): digitCount = 8
        case let byte? where "btnfr\"\\".utf8.contains(byte):
            advance()
            return
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"):
            // A backslash at a line's end joins it with the next.
            guard isMultiline else { throw problem("nothing follows the backslash; write `\\\\` for a backslash") }
            skipBlanks()
            guard isAt("\n") || isAt("\r") else {
                throw problem("nothing follows the backslash; write `\\\\` for a backslash")
            }
            return
        default: throw problem("\(found) after a backslash; write `\\\\` for a backslash")
        }
        advance()
        let digits = bytes[position...].prefix(digitCount)
        // A zero character would cut the text off for TOMLKit.
        guard digits.count == digitCount, digits.allSatisfy(Self.isHexDigit),
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16), value > 0,
            Unicode.Scalar(value) != nil
        else { throw problem("unknown escape; write the character itself") }
        for _ in 0..<digitCount { advance() }
    }

    private static func isBareKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
