/// Text in columns.
enum Table {
    enum Alignment { case left, right }

    private static let gap = 2
    /// No column is made narrower than this: what is left of its cells says nothing any more.
    private static let narrowest = 8

    /// Lines of cells, each column as wide as its widest cell, two spaces between, no space at the end.
    ///
    /// - Parameter width: columns of the terminal; where the lines are longer, the widest columns are made narrower and
    ///   their cells cut, with `…` at the end. Nil for no limit.
    static func lines(_ rows: [[String]], alignments: [Alignment] = [], width: Int? = nil) -> [String] {
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], DisplayWidth.of(cell))
            }
        }
        if let width { widths = fitted(widths, to: width) }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                if column > 0 { line += String(repeating: " ", count: gap) }
                let alignment = column < alignments.count ? alignments[column] : .left
                line += pad(DisplayWidth.cut(cell, to: widths[column]), to: widths[column], alignment)
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }

    /// Takes from the widest columns, one after the other down to the next widest, until all fit.
    static func fitted(_ widths: [Int], to width: Int) -> [Int] {
        var widths = widths
        var excess = widths.reduce(0, +) + gap * max(0, widths.count - 1) - width
        while excess > 0, let widest = widths.max(), widest > narrowest {
            let next = max(narrowest, widths.filter { $0 < widest }.max() ?? narrowest)
            let columns = widths.indices.filter { widths[$0] == widest }
            let step = max(1, min(widest - next, (excess + columns.count - 1) / columns.count))
            for column in columns where excess > 0 {
                let taken = min(step, excess)
                widths[column] -= taken
                excess -= taken
            }
        }
        return widths
    }

    static func pad(_ text: String, to width: Int, _ alignment: Alignment = .left) -> String {
        let missing = String(repeating: " ", count: max(0, width - DisplayWidth.of(text)))
        return alignment == .left ? text + missing : missing + text
    }
}
