import Phrases

/// One walk over a TOML text that has passed `TOMLText.check`: lines, headers, keys and values.
///
/// What the sections mean together, and that no key comes twice, is left to `TOMLTableBuilder`.
struct TOMLScanner {
    let bytes: [UInt8]
    let limits: TOMLLimits
    private(set) var offset = 0
    private(set) var position = TOMLPosition.start
    private var itemCount = 0
    private var comments: [Range<Int>] = []

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    init(_ bytes: [UInt8], limits: TOMLLimits) {
        self.bytes = bytes
        self.limits = limits
        if bytes.starts(with: Self.byteOrderMark) { offset = Self.byteOrderMark.count }
    }

    mutating func scan() throws(TOMLError) -> [TOMLSection] {
        var sections = [
            TOMLSection(keys: [], isElement: false, position: position, start: offset, header: offset..<offset)
        ]
        var depth = 0
        while offset < bytes.count {
            let lineStart = offset
            skipBlanks()
            switch current {
            case nil, .newline, .carriageReturn, UInt8(ascii: "#"): break
            case UInt8(ascii: "["):
                sections.append(try header(lineStart: lineStart))
                depth = sections[sections.count - 1].keys.count
            default:
                comments = []
                let (keys, node) = try entry(depth: depth)
                sections[sections.count - 1].entries.append(TOMLEntry(keys: keys, node: node, comments: comments))
            }
            try finishLine()
        }
        return sections
    }

    // MARK: - Bytes

    var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    func isAt(_ character: Unicode.Scalar) -> Bool { current == UInt8(ascii: character) }

    /// Whether three of `quote` follow.
    func isAtThree(_ quote: UInt8) -> Bool {
        current == quote && bytes.has(quote, at: offset + 1) && bytes.has(quote, at: offset + 2)
    }

    mutating func advance(_ count: Int = 1) {
        for _ in 0..<count {
            guard let byte = current else { return }
            offset += 1
            if byte == .newline {
                position = TOMLPosition(line: position.line + 1, column: 1)
            } else if byte & 0xC0 != 0x80 {
                position.column += 1
            }
        }
    }

    mutating func skipBlanks() {
        while isAt(" ") || isAt("\t") { advance() }
    }

    private mutating func skipComment() {
        while let byte = current, byte != .newline, byte != .carriageReturn { advance() }
    }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// What is at the place, for messages.
    var found: Phrase {
        guard let byte = current else { return Phrase("the file ends") }
        if byte == .newline || byte == .carriageReturn { return Phrase("the line ends") }
        return Phrase("found `\(String(decoding: bytes[offset...].prefix(32), as: UTF8.self).prefix(1))`")
    }

    /// The error for what is at the place: `found … CAUSE`.
    func unexpected(_ cause: Phrase, _ remedy: Phrase) -> TOMLError {
        TOMLError(.unexpected, position, Phrase("\(found) \(cause)", context: "TOML"), remedy)
    }

    private mutating func take(
        _ character: Unicode.Scalar, _ cause: Phrase, _ remedy: Phrase
    ) throws(TOMLError) {
        guard isAt(character) else { throw unexpected(cause, remedy) }
        advance()
    }

    private mutating func countItem() throws(TOMLError) {
        itemCount += 1
        guard itemCount <= limits.itemCount else {
            throw TOMLError(
                .tooLarge, position, "the text has more than \(limits.itemCount) keys and values", "remove some")
        }
    }

    private func checkDepth(_ depth: Int) throws(TOMLError) {
        guard depth <= limits.depth else {
            throw TOMLError(
                .tooDeep, position, "tables and lists are nested too deep here",
                "use at most \(limits.depth) levels")
        }
    }

    // MARK: - Lines

    private mutating func finishLine() throws(TOMLError) {
        skipBlanks()
        if isAt("#") { skipComment() }
        if isAt("\r") { advance() }
        guard current != nil else { return }
        try take("\n", Phrase("where the line should end"), Phrase("start a new line for it"))
    }

    private mutating func header(lineStart: Int) throws(TOMLError) -> TOMLSection {
        let start = offset
        let place = position
        advance()
        let isElement = isAt("[")
        if isElement { advance() }
        let keys = try keys(depth: 1)
        let end = isElement ? "]]" : "]"
        for _ in 0..<end.utf8.count {
            try take("]", Phrase("where the header should end"), Phrase("end it with `\(end)`"))
        }
        return TOMLSection(keys: keys, isElement: isElement, position: place, start: lineStart, header: start..<offset)
    }

    /// A key, `=` and a value; `depth` is that of the table they are in.
    private mutating func entry(depth: Int) throws(TOMLError) -> (keys: [TOMLKey], node: TOMLNode) {
        let keys = try keys(depth: depth)
        try take("=", Phrase("where `=` should follow the name"), Phrase("write `name = value`"))
        skipBlanks()
        return (keys, try value(depth: depth + keys.count - 1))
    }

    /// One key, or the parts of a dotted one; `depth` is that of the first part.
    private mutating func keys(depth: Int) throws(TOMLError) -> [TOMLKey] {
        var keys: [TOMLKey] = []
        while true {
            try countItem()
            try checkDepth(depth + keys.count)
            skipBlanks()
            keys.append(try key())
            skipBlanks()
            guard isAt(".") else { return keys }
            advance()
        }
    }

    private mutating func key() throws(TOMLError) -> TOMLKey {
        let start = offset
        let place = position
        let text: String
        if isAt("\"") || isAt("'") {
            if isAtThree(bytes[offset]) {
                throw unexpected(
                    Phrase("three times where a name should be"), Phrase("write the name in one pair of quotes"))
            }
            text = try lineString()
        } else {
            while let byte = current, byte.isBareKey { advance() }
            guard offset > start else {
                throw unexpected(
                    Phrase("where a name should be"),
                    Phrase("write a name, in quotes if it has other characters than A-Z a-z 0-9 - _"))
            }
            text = self.text(start..<offset)
        }
        return TOMLKey(text: text, position: place, range: start..<offset)
    }

    // MARK: - Values

    /// A value; `depth` is how many tables and lists it is in.
    private mutating func value(depth: Int) throws(TOMLError) -> TOMLNode {
        try countItem()
        let start = offset
        let place = position
        let value: TOMLValue
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            value = .string(isAtThree(bytes[offset]) ? try multilineString() : try lineString())
        case UInt8(ascii: "["): value = .array(try elements(depth: depth + 1))
        case UInt8(ascii: "{"): value = .table(try inlineTable(depth: depth + 1))
        default:
            skipWord()
            guard offset > start else {
                throw unexpected(
                    Phrase("where a value should be"), Phrase("write a value, for example `\"text\"`, 60 or `true`"))
            }
            value = try TOMLScalar.parse(bytes[start..<offset], at: place)
        }
        return TOMLNode(value: value, position: place, range: start..<offset)
    }

    /// A value without quotes. A date may be followed by a blank and its time.
    private mutating func skipWord() {
        let start = offset
        while let byte = current, byte.isBareKey || "+.:".utf8.contains(byte) { advance() }
        let isDay =
            offset - start == 10 && bytes[start + 4] == UInt8(ascii: "-")
            && bytes[start..<start + 4].allSatisfy(\.isDigit)
        guard isDay, isAt(" "), offset + 3 < bytes.count, bytes[offset + 1].isDigit, bytes[offset + 2].isDigit,
            bytes[offset + 3] == UInt8(ascii: ":")
        else { return }
        advance()
        while let byte = current, byte.isBareKey || "+.:".utf8.contains(byte) { advance() }
    }

    private mutating func elements(depth: Int) throws(TOMLError) -> [TOMLNode] {
        try checkDepth(depth)
        advance()
        var elements: [TOMLNode] = []
        skipBetweenElements()
        while !isAt("]") {
            elements.append(try value(depth: depth))
            skipBetweenElements()
            guard isAt(",") else { break }
            advance()
            skipBetweenElements()
        }
        try take(
            "]", Phrase("where the list should go on or end"), Phrase("write `,` between its values and `]` at its end")
        )
        return elements
    }

    private mutating func skipBetweenElements() {
        while let byte = current {
            switch byte {
            case UInt8(ascii: " "), .tab, .newline, .carriageReturn: advance()
            case UInt8(ascii: "#"):
                let start = offset
                skipComment()
                comments.append(start..<offset)
            default: return
            }
        }
    }

    private mutating func inlineTable(depth: Int) throws(TOMLError) -> TOMLTable {
        try checkDepth(depth)
        advance()
        let builder = TOMLTableBuilder(style: .inline)
        skipBlanks()
        if !isAt("}") {
            while true {
                let (keys, node) = try entry(depth: depth)
                try builder.set(keys, to: node)
                skipBlanks()
                guard isAt(",") else { break }
                advance()
            }
        }
        try take(
            "}", Phrase("where the table should go on or end"),
            Phrase("write `,` between its settings and `}` at its end, all on one line and without a comma before `}`"))
        return builder.table()
    }
}
