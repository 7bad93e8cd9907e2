/// Where things stand in a TOML text: headers, keys and values by offset and line.
///
/// TOMLKit reads values but knows no positions; this finds positions and leaves the values to TOMLKit.
struct TOMLOutline: Equatable {
    struct Entry: Equatable {
        /// The dotted key, its parts unquoted.
        var keys: [String]
        var line: Int
        var value: Range<Int>
        /// Of an array, its elements.
        var elements: [Range<Int>] = []
        /// The comments inside the value, from `#` to the end of their lines.
        var comments: [Range<Int>] = []
    }

    struct Table: Equatable {
        /// Empty for what stands before the first header.
        var keys: [String]
        /// Written `[[…]]`.
        var isElement: Bool
        var line: Int
        /// The offset at which the header's line starts.
        var start: Int
        /// The offset after the header.
        var headerEnd: Int
        var entries: [Entry] = []

        /// The offset after the last thing of this table that is no comment.
        var contentEnd: Int { entries.last?.value.upperBound ?? headerEnd }
    }

    private(set) var tables: [Table]

    /// Throws for the first thing that is no TOML.
    init(_ bytes: [UInt8]) throws(TOMLSyntaxProblem) {
        var scanner = TOMLScanner(bytes)
        tables = try scanner.scan()
    }

    /// The tables `[[name]]`, in order.
    func elements(_ name: String) -> [Table] { tables.filter { $0.isElement && $0.keys == [name] } }

    /// The line of the setting `keys`, or of what comes nearest to it: a table around it or below it.
    func line(of keys: [String]) -> Int {
        for length in stride(from: keys.count, to: 0, by: -1) {
            let wanted = keys.prefix(length)
            if let table = tables.first(where: { $0.keys.starts(with: wanted) }) { return table.line }
            for table in tables where !table.isElement {
                if let entry = table.entries.first(where: { (table.keys + $0.keys).starts(with: wanted) }) {
                    return entry.line
                }
            }
        }
        return 1
    }

    /// The line of `key` in the table `[[name]]` with this index, or of its header.
    func line(of key: String, in name: String, index: Int) -> Int {
        let found = elements(name)
        guard found.indices.contains(index) else { return line(of: [name]) }
        return found[index].entries.first { $0.keys.first == key }?.line ?? found[index].line
    }
}
