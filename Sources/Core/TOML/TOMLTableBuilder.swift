/// A table while its text is read; keeps TOML's rules of what may be defined where.
///
/// A class, so that a table deep in the tree grows in place. Depth is bounded by `TOMLLimits.depth`, and with it every
/// recursion here.
final class TOMLTableBuilder {
    private enum Item {
        /// A value, closed: nothing is added to a list in brackets or an inline table.
        case value(TOMLNode)
        case table(TOMLTableBuilder)
        /// The tables of `[[…]]`, with their headers.
        case elements([(builder: TOMLTableBuilder, section: TOMLSection)])
    }

    private var style: TOMLTable.Style
    private var items: [(key: TOMLKey, item: Item)] = []
    private var indices: [[UInt8]: Int] = [:]

    init(style: TOMLTable.Style) { self.style = style }

    /// The tree that the sections of a text make together.
    static func tree(of sections: [TOMLSection]) throws(TOMLError) -> TOMLTable {
        let root = TOMLTableBuilder(style: .implicit)
        for section in sections {
            let table = section.keys.isEmpty ? root : try root.open(section)
            for entry in section.entries { try table.set(entry.keys, to: entry.node) }
        }
        return root.table()
    }

    /// The tree as a value.
    func table() -> TOMLTable {
        TOMLTable(
            style: style, entries: items.map { TOMLTable.Entry(key: $0.key, node: Self.node($0.key, $0.item)) },
            indices: indices)
    }

    private static func node(_ key: TOMLKey, _ item: Item) -> TOMLNode {
        switch item {
        case .value(let node): return node
        case .table(let builder):
            return TOMLNode(value: .table(builder.table()), position: key.position, range: key.range)
        case .elements(let elements):
            let nodes = elements.map { builder, section in
                TOMLNode(value: .table(builder.table()), position: section.position, range: section.header)
            }
            return TOMLNode(value: .array(nodes), position: key.position, range: key.range)
        }
    }

    // MARK: - Adding

    private func item(_ key: TOMLKey) -> (key: TOMLKey, item: Item)? { indices[Array(key.text.utf8)].map { items[$0] } }

    private func append(_ key: TOMLKey, _ item: Item) {
        indices[Array(key.text.utf8)] = items.count
        items.append((key, item))
    }

    private func appendTable(_ key: TOMLKey, style: TOMLTable.Style) -> TOMLTableBuilder {
        let table = TOMLTableBuilder(style: style)
        append(key, .table(table))
        return table
    }

    /// Sets a value by its dotted key.
    func set(_ keys: [TOMLKey], to node: TOMLNode) throws(TOMLError) {
        guard let last = keys.last else { return }
        var table = self
        for key in keys.dropLast() {
            switch table.item(key) {
            case nil: table = table.appendTable(key, style: .dotted)
            case (_, .table(let inner))? where inner.style == .dotted || inner.style == .implicit:
                inner.style = .dotted
                table = inner
            case let (first, item)?: throw Self.closed(key, first, item)
            }
        }
        if let (first, _) = table.item(last) {
            throw TOMLError(
                .duplicate, last.position,
                "`\(last.shown)` is already set on line \(first.position.line)", "remove one of the two")
        }
        table.append(last, .value(node))
    }

    /// The table of a header, made if it is not there.
    private func open(_ section: TOMLSection) throws(TOMLError) -> TOMLTableBuilder {
        guard let last = section.keys.last else { return self }
        var table = self
        for key in section.keys.dropLast() {
            switch table.item(key) {
            case nil: table = table.appendTable(key, style: .implicit)
            case (_, .table(let inner))?: table = inner
            case (_, .elements(let elements))?: table = elements.last?.builder ?? table
            case let (first, item)?: throw Self.closed(key, first, item)
            }
        }
        guard section.isElement else { return try table.openTable(last) }
        return try table.openElement(last, section)
    }

    private func openTable(_ key: TOMLKey) throws(TOMLError) -> TOMLTableBuilder {
        switch item(key) {
        case nil: return appendTable(key, style: .header)
        case (_, .table(let inner))? where inner.style == .implicit:
            inner.style = .header
            return inner
        case let (first, item)?: throw Self.closed(key, first, item)
        }
    }

    private func openElement(_ key: TOMLKey, _ section: TOMLSection) throws(TOMLError) -> TOMLTableBuilder {
        let element = TOMLTableBuilder(style: .element)
        guard let index = indices[Array(key.text.utf8)] else {
            append(key, .elements([(element, section)]))
            return element
        }
        guard case .elements(var elements) = items[index].item else {
            throw Self.closed(key, items[index].key, items[index].item)
        }
        // Not held twice while it grows, so that it is not copied for each element.
        items[index].item = .elements([])
        elements.append((element, section))
        items[index].item = .elements(elements)
        return element
    }

    /// The error for adding to something that is complete.
    private static func closed(_ key: TOMLKey, _ first: TOMLKey, _ item: Item) -> TOMLError {
        let line = first.position.line
        let name = "`\(key.shown)`"
        switch item {
        case .value:
            return TOMLError(
                .duplicate, key.position, "\(name) is already set on line \(line), and nothing can be added to it",
                "write all of it in one place")
        case .table:
            return TOMLError(
                .duplicate, key.position, "the table \(name) is already defined on line \(line)",
                "write all its settings in one place")
        case .elements:
            return TOMLError(
                .duplicate, key.position, "\(name) is already a list of tables on line \(line)",
                "write `[[\(key.shown)]]` for another one")
        }
    }
}

extension TOMLKey {
    /// For messages.
    fileprivate var shown: String { String(text.prefix(80)) }
}
