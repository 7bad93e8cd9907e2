import Phrases

extension TOMLScanner {
    private static let backslashRemedy = Phrase(#"write `\\` for a backslash, or use single quotes"#)

    /// A string in one pair of quotes.
    mutating func lineString() throws(TOMLError) -> String {
        guard let quote = current else { return "" }
        let start = position
        var content: [UInt8] = []
        advance()
        while let byte = current, byte != .newline, byte != .carriageReturn {
            if byte == quote {
                advance()
                return String(decoding: content, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                content += try escape()
            } else {
                content.append(byte)
                advance()
            }
        }
        throw unterminated(start, quote, count: 1)
    }

    /// A string in three pairs of quotes. Line ends in it stay as they are written.
    mutating func multilineString() throws(TOMLError) -> String {
        guard let quote = current else { return "" }
        let start = position
        var content: [UInt8] = []
        advance(3)
        skipLineEnd()
        while let byte = current {
            if byte == quote {
                let run = quoteRun(quote)
                // Up to two quotes before the three that close belong to the text.
                content += repeatElement(quote, count: run < 3 ? run : run - 3)
                advance(run)
                if run >= 3 { return String(decoding: content, as: UTF8.self) }
            } else if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                if !skipJoinedLines() { content += try escape() }
            } else {
                content.append(byte)
                advance()
            }
        }
        throw unterminated(start, quote, count: 3)
    }

    private func unterminated(_ start: TOMLPosition, _ quote: UInt8, count: Int) -> TOMLError {
        let quotes = String(repeating: Character(Unicode.Scalar(quote)), count: count)
        return TOMLError(
            .unterminated, start, "the text that begins here has no closing quote", "end it with `\(quotes)`")
    }

    /// How many quotes follow; at most the five that can end a string.
    private func quoteRun(_ quote: UInt8) -> Int {
        var count = 0
        while count < 5, bytes.has(quote, at: offset + count) { count += 1 }
        return count
    }

    @discardableResult
    private mutating func skipLineEnd() -> Bool {
        if isAt("\r") { advance() }
        guard isAt("\n") else { return false }
        advance()
        return true
    }

    /// Skips a backslash at the end of a line, and the blanks and line ends after it. False if no line ends there.
    private mutating func skipJoinedLines() -> Bool {
        var end = offset + 1
        while bytes.has(UInt8(ascii: " "), at: end) || bytes.has(.tab, at: end) { end += 1 }
        guard bytes.has(.newline, at: end) || bytes.has(.carriageReturn, at: end) else { return false }
        advance(end - offset)
        while isAt(" ") || isAt("\t") || isAt("\n") || isAt("\r") { advance() }
        return true
    }

    /// The UTF-8 of what an escape stands for.
    private mutating func escape() throws(TOMLError) -> [UInt8] {
        let start = position
        advance()
        let digitCount: Int
        switch current {
        case UInt8(ascii: "u"): digitCount = 4
        case UInt8(ascii: "U"): digitCount = 8
        case let byte?:
            guard let character = Self.shortEscapes[byte] else {
                throw TOMLError(.invalidEscape, start, "\(found) after a backslash", Self.backslashRemedy)
            }
            advance()
            return [character]
        case nil: throw TOMLError(.invalidEscape, start, "\(found) after a backslash", Self.backslashRemedy)
        }
        advance()
        let digits = bytes[offset...].prefix(digitCount)
        guard digits.count == digitCount, digits.allSatisfy(\.isHexDigit),
            let scalar = UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Unicode.Scalar.init)
        else {
            let letter = digitCount == 4 ? "u" : "U"
            throw TOMLError(
                .invalidEscape, start, "this escape is not a Unicode character",
                "write `\\\(letter)` and \(digitCount) hex digits, or the character itself")
        }
        guard limits.allowsNull || scalar.value != 0 else {
            throw TOMLError(.invalidEscape, start, "this escape is U+0000, which is not allowed here", "remove it")
        }
        advance(digitCount)
        return Array(String(scalar).utf8)
    }

    private static let shortEscapes: [UInt8: UInt8] = [
        UInt8(ascii: "b"): 0x08, UInt8(ascii: "t"): 0x09, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "f"): 0x0C,
        UInt8(ascii: "r"): 0x0D, UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C,
    ]
}
