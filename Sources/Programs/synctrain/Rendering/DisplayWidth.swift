/// How many columns of a terminal text takes. Pure.
enum DisplayWidth {
    /// Blocks of characters that terminals draw two columns wide (Unicode UAX #11: W and F), and pictures.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]

    static func of(_ text: String) -> Int {
        // Nearly all names are plain.
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    private static func of(_ character: Character) -> Int {
        character.unicodeScalars.reduce(0) { max($0, of($1)) }
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        let isWide = scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }
        return isWide ? 2 : 1
    }

    /// The beginning of `text` that takes `width` columns at most; where something is cut off, it ends with `…`.
    static func cut(_ text: String, to width: Int) -> String {
        guard of(text) > width else { return text }
        guard width > 0 else { return "" }
        var (cut, columns) = ("", 0)
        for character in text {
            let next = of(character)
            guard columns + next <= width - 1 else { break }
            cut.append(character)
            columns += next
        }
        while cut.last == " " { cut.removeLast() }
        return cut + "…"
    }
}
