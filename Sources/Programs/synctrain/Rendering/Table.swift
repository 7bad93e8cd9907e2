/// Text in columns.
enum Table {
    enum Alignment { case left, right }

    /// Lines of cells, each column as wide as its widest cell, two spaces between, no space at the end.
    static func lines(_ rows: [[String]], alignments: [Alignment] = []) -> [String] {
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                if column > 0 { line += "  " }
                let alignment = column < alignments.count ? alignments[column] : .left
                line += pad(cell, to: widths[column], alignment)
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }

    static func pad(_ text: String, to width: Int, _ alignment: Alignment = .left) -> String {
        let missing = String(repeating: " ", count: max(0, width - text.count))
        return alignment == .left ? text + missing : missing + text
    }
}
