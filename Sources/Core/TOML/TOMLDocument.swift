/// A TOML 1.0 text: what it says, and where it says so.
///
/// The grammar and the rules about tables are those of https://toml.io/en/v1.0.0. A byte order mark at the start is
/// skipped. Any bytes may be given: what is not TOML throws, and nothing traps.
package struct TOMLDocument: Equatable, Sendable {
    /// All keys and values of the text as one tree.
    package let root: TOMLTable
    /// The same in the order of the text, for editors: the entries before the first header, then one section per header.
    package let sections: [TOMLSection]

    /// Parses a text in linear time.
    ///
    /// - Parameter bytes: The whole text, in UTF-8.
    /// - Throws: The first problem in the text, with its place; `tooLarge` and `tooDeep` for what exceeds `limits`.
    package init(parsing bytes: [UInt8], limits: TOMLLimits = TOMLLimits()) throws(TOMLError) {
        guard bytes.count <= limits.byteCount else {
            throw TOMLError(
                .tooLarge, .start, "the text is longer than \(limits.byteCount) bytes", "shorten it")
        }
        try TOMLText.check(bytes)
        var scanner = TOMLScanner(bytes, limits: limits)
        sections = try scanner.scan()
        root = try TOMLTableBuilder.tree(of: sections)
    }
}

/// What a text may have at most. Each limit bounds what a text from outside costs: memory, or stack.
package struct TOMLLimits: Equatable, Sendable {
    /// The bytes of the text.
    package var byteCount: Int
    /// How deep tables and lists may be nested, those of headers and dotted keys included.
    package var depth: Int
    /// The keys and values of the text, those of headers and the elements of lists included.
    package var itemCount: Int
    /// Whether a string or key may hold U+0000, which TOML allows as `\u0000`. Off for text that goes to C.
    package var allowsNull: Bool

    package init(
        byteCount: Int = 4 << 20, depth: Int = 32, itemCount: Int = 200_000, allowsNull: Bool = true
    ) {
        self.byteCount = byteCount
        self.depth = depth
        self.itemCount = itemCount
        self.allowsNull = allowsNull
    }
}

/// One header and the entries below it, up to the next header.
package struct TOMLSection: Equatable, Sendable {
    /// The keys of the header; empty for what stands before the first header.
    package var keys: [TOMLKey]
    /// Whether the header is written `[[…]]`.
    package var isElement: Bool
    /// The place of the header's `[`.
    package var position: TOMLPosition
    /// The byte offset at which the header's line starts.
    package var start: Int
    /// The bytes of the header with its brackets; empty for what stands before the first header.
    package var header: Range<Int>
    package var entries: [TOMLEntry] = []

    /// The byte offset after the last value, or after the header if there is none. Comments do not count.
    package var contentEnd: Int { entries.last?.node.range.upperBound ?? header.upperBound }
}

/// One `key = value` of a section.
package struct TOMLEntry: Equatable, Sendable {
    /// The parts of the key; more than one for a dotted key.
    package var keys: [TOMLKey]
    package var node: TOMLNode
    /// The byte ranges of the comments inside the value, each from `#` to the end of its line.
    package var comments: [Range<Int>]
}
