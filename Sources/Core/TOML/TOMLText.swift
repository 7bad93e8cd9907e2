/// The rules that hold for every byte of a text, in strings and comments too.
enum TOMLText {
    /// Refuses what is not UTF-8, and every control character but tab and the ends of lines.
    static func check(_ bytes: [UInt8]) throws(TOMLError) {
        var decoder = UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var position = TOMLPosition.start
        var offset = 0
        while true {
            switch decoder.parseScalar(from: &iterator) {
            case .emptyInput: return
            case .error:
                let byte = String(bytes[offset], radix: 16, uppercase: true)
                throw TOMLError(.notUTF8, position, "byte 0x\(byte) is not UTF-8", "save the text as UTF-8")
            case .valid(let encoded):
                if let byte = encoded.first, encoded.count == 1 {
                    let isLineEnd = byte == .newline || (byte == .carriageReturn && bytes.has(.newline, at: offset + 1))
                    guard isLineEnd || byte == .tab || !byte.isControl else {
                        throw TOMLError(
                            .controlCharacter, position, "control character \(byte.codePoint)", "remove it")
                    }
                    if byte == .newline { position = TOMLPosition(line: position.line + 1, column: 0) }
                }
                position.column += 1
                offset += encoded.count
            }
        }
    }
}

extension [UInt8] {
    func has(_ byte: UInt8, at offset: Int) -> Bool { offset < count && self[offset] == byte }
}

extension UInt8 {
    static let newline = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let tab = UInt8(ascii: "\t")

    var isControl: Bool { self < 0x20 || self == 0x7F }
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// Whether a key may hold it without quotes.
    var isBareKey: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// `U+0007`
    var codePoint: String { "U+00" + (self < 16 ? "0" : "") + String(self, radix: 16, uppercase: true) }
}
