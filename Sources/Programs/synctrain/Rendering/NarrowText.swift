/// Text for a terminal that is too narrow for tables of many columns and for long lines. Pure.
enum NarrowText {
    /// With fewer columns the cells of such a table would say nothing any more.
    static let limit = 60
    /// How far what belongs to a line stands to the right of it.
    private static let step = 2
    /// Behind these a word that is longer than a line is broken, if it must be.
    private static let breaks: Set<Character> = ["/", "-", "_", ",", ":", ".", "="]

    /// Whether `width` columns are few. Pass nil for output that is not a terminal.
    static func isNeeded(_ width: Int?) -> Bool { width.map { $0 < limit } ?? false }

    /// The lines that `line` makes, broken between words.
    ///
    /// - Parameter hanging: columns before all lines but the first; two more than before the first if omitted.
    static func wrapped(_ line: String, to width: Int, hanging: Int? = nil) -> [String] {
        guard DisplayWidth.of(line) > width else { return [line] }
        let first = line.prefix { $0 == " " }
        // A line has room for something, however narrow the terminal is.
        let indent = min(hanging ?? first.count + step, width / 2)
        var lines: [String] = []
        var current = String(first)
        var hasWord = false
        func end() {
            lines.append(current)
            (current, hasWord) = (String(repeating: " ", count: indent), false)
        }
        for word in line.split(separator: " ") {
            var rest = String(word)
            let needed = DisplayWidth.of(rest) + (hasWord ? 1 : 0)
            if hasWord, DisplayWidth.of(current) + needed > width { end() }
            while !hasWord, DisplayWidth.of(current) + DisplayWidth.of(rest) > width {
                let part = beginning(of: rest, columns: max(1, width - DisplayWidth.of(current)))
                current += part
                rest.removeFirst(part.count)
                end()
            }
            guard !rest.isEmpty else { continue }
            current += (hasWord ? " " : "") + rest
            hasWord = true
        }
        if hasWord { lines.append(current) }
        return lines
    }

    /// As much of a word as has room, up to where it may be broken; at least a character.
    private static func beginning(of word: String, columns: Int) -> String {
        var (fitting, upToBreak) = ("", "")
        for character in word {
            guard fitting.isEmpty || DisplayWidth.of(fitting + String(character)) <= columns else { break }
            fitting.append(character)
            if breaks.contains(character) { upToBreak = fitting }
        }
        return upToBreak.isEmpty ? fitting : upToBreak
    }

    /// A line for each pair, the values below each other and each within its column.
    static func pairs(_ pairs: [(key: String, value: String)], width: Int, indent: Int = 0) -> [String] {
        let keyWidth = pairs.map { DisplayWidth.of($0.key) }.max() ?? 0
        let before = String(repeating: " ", count: indent)
        return pairs.flatMap { pair in
            wrapped(
                before + Table.pad(pair.key, to: keyWidth) + "  " + pair.value, to: width,
                keyed: indent + keyWidth + 2)
        }
    }

    /// As `wrapped`, with a beginning of so many columns that stays as it is.
    private static func wrapped(_ line: String, to width: Int, keyed: Int) -> [String] {
        guard DisplayWidth.of(line) > width else { return [line] }
        let (key, value) = (line.prefix(keyed), line.dropFirst(keyed))
        let lines = wrapped(String(repeating: " ", count: keyed) + value, to: width, hanging: keyed)
        guard let first = lines.first else { return [line] }
        return [String(key) + first.dropFirst(keyed)] + lines.dropFirst()
    }

    /// The rows of a table one below the other: the first cell, and below it the others behind their headings.
    ///
    /// - Parameter rows: the headings first.
    static func records(_ rows: [[String]], width: Int) -> [String] {
        guard let headings = rows.first else { return [] }
        return rows.dropFirst().flatMap { row in
            wrapped(row.first ?? "", to: width)
                + pairs(
                    zip(headings, row).dropFirst().filter { !$0.1.isEmpty }.map { (key: $0.0, value: $0.1) },
                    width: width, indent: step)
        }
    }
}

extension Table {
    /// A table with headings, or its rows one below the other where the terminal is too narrow for it.
    ///
    /// - Parameter rows: the headings first.
    static func fitting(_ rows: [[String]], alignments: [Alignment] = [], width: Int?) -> [String] {
        guard let width, NarrowText.isNeeded(width) || cutsNumbers(rows, width: width) else {
            return lines(rows, alignments: alignments, width: width)
        }
        let natural = lines(rows, alignments: alignments)
        return natural.allSatisfy { DisplayWidth.of($0) <= width } ? natural : NarrowText.records(rows, width: width)
    }

    /// Whether a cell that begins with a number would lose its end, as `4 files, 5 KiB` would. What is cut of a name can be guessed.
    private static func cutsNumbers(_ rows: [[String]], width: Int) -> Bool {
        let count = rows.map(\.count).max() ?? 0
        let natural = (0..<count).map { column in
            rows.map { column < $0.count ? DisplayWidth.of($0[column]) : 0 }.max() ?? 0
        }
        let fitted = fitted(natural, to: width)
        return rows.contains { row in
            zip(row, fitted).dropFirst().contains { cell, width in
                cell.first?.isNumber == true && DisplayWidth.of(cell) > width
            }
        }
    }
}
