/// Values without quotes: truth values, numbers, dates and times.
enum TOMLScalar {
    /// The value that `word` is written for.
    static func parse(_ word: ArraySlice<UInt8>, at position: TOMLPosition) throws(TOMLError) -> TOMLValue {
        let text = String(decoding: word, as: UTF8.self)
        switch text {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "inf", "+inf": return .float(.infinity)
        case "-inf": return .float(-.infinity)
        case "nan", "+nan", "-nan": return .float(.nan)
        default: break
        }
        let shown = "`\(text.prefix(40))`"
        if isLikeDateTime(word) {
            var reader = TOMLDateTimeReader(rest: word)
            if let dateTime = reader.read() { return .dateTime(dateTime) }
            throw TOMLError(
                .invalidDateTime, position, "\(shown) is not a date or time",
                "write it as 2026-11-21T19:31:52Z, or put quotes around a text")
        }
        let digits = word.drop { isSign($0) }
        guard let first = digits.first, first.isDigit, word.count - digits.count <= 1 else {
            throw TOMLError(
                .invalidValue, position, "\(shown) is not a number, date, `true` or `false`",
                "put quotes around a text")
        }
        if first == UInt8(ascii: "0"), let radix = digits.dropFirst().first.flatMap({ radices[$0] }) {
            return try prefixed(word, radix, shown, position)
        }
        return try decimal(word, digits, shown, position)
    }

    private static let radices: [UInt8: Int] = [UInt8(ascii: "x"): 16, UInt8(ascii: "o"): 8, UInt8(ascii: "b"): 2]

    private static func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") }

    private static func isLikeDateTime(_ word: ArraySlice<UInt8>) -> Bool {
        let digits = word.prefix { $0.isDigit }.count
        guard let next = word.dropFirst(digits).first else { return false }
        return digits == 4 && next == UInt8(ascii: "-") || digits == 2 && next == UInt8(ascii: ":")
    }

    // MARK: - Numbers

    private static func prefixed(
        _ word: ArraySlice<UInt8>, _ radix: Int, _ shown: String, _ position: TOMLPosition
    ) throws(TOMLError) -> TOMLValue {
        guard let digits = withoutUnderscores(word.dropFirst(2), where: \.isHexDigit), word.first?.isDigit == true
        else {
            throw TOMLError(
                .invalidNumber, position, "\(shown) is not a number",
                "write digits after `0x`, `0o` or `0b`, without a sign")
        }
        guard let number = Int64(digits, radix: radix) else {
            // All are hex digits: either one is too great for the base, or the number for 64 bits.
            let isWritten = digits.allSatisfy { $0.hexDigitValue.map { $0 < radix } == true }
            throw isWritten
                ? tooGreat(shown, position)
                : TOMLError(.invalidNumber, position, "\(shown) is not a number of base \(radix)", "correct its digits")
        }
        return .integer(number)
    }

    private static func decimal(
        _ word: ArraySlice<UInt8>, _ digits: ArraySlice<UInt8>, _ shown: String, _ position: TOMLPosition
    ) throws(TOMLError) -> TOMLValue {
        let isNegative = word.first == UInt8(ascii: "-")
        let whole = digits.prefix { !isFractionStart($0) }
        var rest = digits[whole.endIndex...]
        guard let wholeDigits = withoutUnderscores(whole, where: \.isDigit) else { throw malformed(shown, position) }
        if wholeDigits.count > 1, wholeDigits.hasPrefix("0") {
            throw TOMLError(
                .invalidNumber, position, "\(shown) has a leading zero", "remove the zero, or put quotes around a text")
        }
        var number = (isNegative ? "-" : "") + wholeDigits
        guard !rest.isEmpty else {
            guard let integer = Int64(number) else { throw tooGreat(shown, position) }
            return .integer(integer)
        }
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix { !isExponentStart($0) }
            guard let text = withoutUnderscores(fraction, where: \.isDigit) else { throw malformed(shown, position) }
            number += "." + text
            rest = rest[fraction.endIndex...]
        }
        if let first = rest.first, isExponentStart(first) {
            rest = rest.dropFirst()
            number += "e"
            if let sign = rest.first, isSign(sign) {
                if sign == UInt8(ascii: "-") { number += "-" }
                rest = rest.dropFirst()
            }
            guard let text = withoutUnderscores(rest, where: \.isDigit) else { throw malformed(shown, position) }
            number += text
        }
        // The text is one that Double takes: what is too great for it is infinite, as IEEE 754 has it.
        guard let double = Double(number) else { throw malformed(shown, position) }
        return .float(double)
    }

    private static func isExponentStart(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
    }
    private static func isFractionStart(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ".") || isExponentStart(byte) }

    /// The digits alone; nil unless there is one and each `_` is between two.
    private static func withoutUnderscores(_ text: ArraySlice<UInt8>, where isDigit: (UInt8) -> Bool) -> String? {
        var digits: [UInt8] = []
        var isAfterDigit = false
        for byte in text {
            if byte == UInt8(ascii: "_") {
                guard isAfterDigit else { return nil }
                isAfterDigit = false
            } else {
                guard isDigit(byte) else { return nil }
                digits.append(byte)
                isAfterDigit = true
            }
        }
        return isAfterDigit ? String(decoding: digits, as: UTF8.self) : nil
    }

    private static func malformed(_ shown: String, _ position: TOMLPosition) -> TOMLError {
        TOMLError(
            .invalidNumber, position, "\(shown) is not a number",
            "write it as 60, 1_000 or 1.5e3, or put quotes around a text")
    }

    private static func tooGreat(_ shown: String, _ position: TOMLPosition) -> TOMLError {
        TOMLError(
            .invalidNumber, position, "\(shown) is outside the range of 64-bit integers",
            "write a number between -2^63 and 2^63 - 1")
    }
}
