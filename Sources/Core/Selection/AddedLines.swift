/// `!/path` lines that were added before the line that matches everything, since the others were compiled. What is behind them has
/// moved down by as many.
struct AddedLines: Sendable {
    typealias LineIndex = PathTrie.LineIndex

    /// With so many, all lines are compiled together again: the cost of one more grows with these.
    static let limit = 64

    /// Where the line that matches everything was when the others were compiled.
    let start: LineIndex
    private(set) var table = PatternTable([])
    private var lines: [(line: LineIndex, pattern: IgnorePattern)] = []

    init(start: LineIndex) { self.start = start }

    var count: Int { lines.count }

    /// Where the line that matches everything is now.
    // bounded: lines of one file
    var end: Int { Int(start) + lines.count }

    /// - Parameter pattern: one about which no line before it decides, nor about what is below.
    func adding(_ pattern: IgnorePattern) -> AddedLines {
        var grown = self
        grown.lines.append((LineIndex(truncatingIfNeeded: end), pattern))
        grown.table = PatternTable(grown.lines).markingEffects { _, _ in .includes }
        return grown
    }

    /// The number that a compiled line has by now.
    func moved(_ line: LineIndex) -> LineIndex {
        // bounded: lines of one file
        line == PathTrie.none || line < start ? line : line + LineIndex(truncatingIfNeeded: count)
    }

    /// The number that a line had, for asking what of the compiled lines is before it.
    func compiled(_ line: LineIndex) -> LineIndex {
        guard line != PathTrie.none, line >= start else { return line }
        // bounded: lines of one file
        return max(start, line - LineIndex(truncatingIfNeeded: count))
    }
}
