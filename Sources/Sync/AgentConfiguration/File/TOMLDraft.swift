import TOML

/// A TOML text under edit. Every change keeps the line ends, the indentation and the comments that it does not mean.
///
/// A change of something that is not there leaves the text alone; whoever edits compares what the text says afterwards.
struct TOMLDraft {
    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    // MARK: - Blocks

    private func blocks(_ name: String) -> [TOMLSection] {
        sections.filter { $0.isElement && $0.keys.map(\.text) == [name] }
    }

    /// Adds a block `[[name]]` after the last one of its kind, or at the end.
    mutating func append(block name: String, _ settings: [(key: String, value: String)]) {
        let end = blocks(name).last.map { lineEnd(after: $0.contentEnd) } ?? bytes.count
        add(["[[\(name)]]"] + settings.map { "\($0.key) = \($0.value)" }, at: end)
    }

    /// Adds lines at the start of a line, with a blank line before and after.
    private mutating func add(_ lines: [String], at end: Int) {
        var lines = lines
        if end > 0, bytes[end - 1] != UInt8(ascii: "\n") { lines.insert("", at: 0) }
        if !bytes[..<end].allSatisfy({ TOMLDraft.isBlank($0) }), !endsWithBlankLine(end) { lines.insert("", at: 0) }
        if end < bytes.count, !isBlankLine(at: end) { lines.append("") }
        bytes.insert(contentsOf: lines.map { $0 + newline }.joined().utf8, at: end)
    }

    /// Removes the block from its header to its last setting; comments before and after it stay.
    mutating func remove(block name: String, at index: Int) {
        let blocks = self.blocks(name)
        guard blocks.indices.contains(index) else { return }
        let start = blocks[index].start
        var end = lineEnd(after: blocks[index].contentEnd)
        let isAfterGap = start == 0 || endsWithBlankLine(start)
        if isAfterGap, end < bytes.count, isBlankLine(at: end) { end = lineEnd(after: end) }
        bytes.removeSubrange(start..<end)
    }

    // MARK: - Settings

    /// Sets `key` in a block: its value is replaced where it stands, or a line is added after the block's first setting.
    mutating func set(_ key: String, of name: String, at index: Int, to value: String) {
        let blocks = self.blocks(name)
        guard blocks.indices.contains(index) else { return }
        let block = blocks[index]
        if let entry = block.entry(key) {
            keep(entry.comments, replacing: entry.node.range, with: value)
        } else {
            insert("\(key) = \(value)", after: block.entries.first, of: block)
        }
    }

    /// Sets `key` of the table `[name]`, which is added after the last table if there is none. A key that is written with
    /// its table, `name.key`, is set as it is.
    mutating func set(_ key: String, ofTable name: String, to value: String) {
        let sections = self.sections.filter { !$0.isElement }
        for section in sections {
            let names = section.keys.map(\.text)
            guard let entry = section.entries.first(where: { names + $0.keys.map(\.text) == [name, key] }) else {
                continue
            }
            return keep(entry.comments, replacing: entry.node.range, with: value)
        }
        if let table = sections.first(where: { $0.keys.map(\.text) == [name] }) {
            if let end = placeholder(key, from: table.header.upperBound) {
                bytes.insert(contentsOf: "\(key) = \(value)\(newline)".utf8, at: end)
                return
            }
            return insert("\(key) = \(value)", after: table.entries.first, of: table)
        }
        if let root = sections.first(where: \.keys.isEmpty),
            let entry = root.entries.last(where: { $0.keys.count > 1 && $0.keys.first?.text == name })
        {
            return insert("\(name).\(key) = \(value)", after: entry, of: root)
        }
        let last = sections.last { !$0.keys.isEmpty }
        add(["[\(name)]", "\(key) = \(value)"], at: last.map { lineEnd(after: $0.contentEnd) } ?? bytes.count)
    }

    /// Sets `key` of what stands before the first table.
    mutating func set(top key: String, to value: String) {
        guard let root = sections.first(where: \.keys.isEmpty) else { return }
        if let entry = root.entries.first(where: { $0.keys.map(\.text) == [key] }) {
            return keep(entry.comments, replacing: entry.node.range, with: value)
        }
        let end = placeholder(key, from: 0) ?? root.entries.first.map { lineEnd(after: $0.node.range.upperBound) } ?? 0
        let isOpen = end > 0 && bytes[end - 1] != UInt8(ascii: "\n")
        bytes.insert(contentsOf: ((isOpen ? newline : "") + "\(key) = \(value)\(newline)").utf8, at: end)
    }

    /// Takes a setting of a table out, or of what stands before the first (`name` is empty); its comments stay.
    mutating func remove(_ key: String, ofTable name: String) {
        let path = name.isEmpty ? [key] : [name, key]
        for section in sections where !section.isElement {
            let names = section.keys.map(\.text)
            guard let entry = section.entries.first(where: { names + $0.keys.map(\.text) == path }) else { continue }
            return takeOut(entry)
        }
    }

    /// Takes a setting out of a block; its comments stay.
    mutating func take(_ key: String, of name: String, at index: Int) {
        let blocks = self.blocks(name)
        guard blocks.indices.contains(index), let entry = blocks[index].entry(key) else { return }
        takeOut(entry)
    }

    /// Takes out all blocks `[[keys]]`.
    mutating func removeBlocks(_ keys: [String]) {
        while let block = sections.last(where: { $0.isElement && $0.keys.map(\.text) == keys }) {
            bytes.removeSubrange(block.start..<lineEnd(after: block.contentEnd))
        }
    }

    private mutating func takeOut(_ entry: TOMLEntry) {
        let start = lineStart(of: entry.node.range.lowerBound)
        let end = lineEnd(after: entry.node.range.upperBound)
        let indent = indentation(ofLineAt: start)
        var comments = entry.comments.map { String(decoding: bytes[$0], as: UTF8.self) }
        let rest = bytes[entry.node.range.upperBound..<end]
        if let mark = rest.firstIndex(of: UInt8(ascii: "#")) {
            comments.append(String(decoding: rest[mark...].prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self))
        }
        let lines = comments.map { indent + $0 + newline }.joined()
        bytes.replaceSubrange(start..<end, with: lines.utf8)
    }

    private var sections: [TOMLSection] {
        (try? TOMLDocument(parsing: bytes, limits: ConfigurationLimits.toml))?.sections ?? []
    }

    /// The end of the line `# key = …`, which shows where the setting would stand, before the next table.
    private func placeholder(_ key: String, from start: Int) -> Int? {
        var place = start
        while place < bytes.count {
            let end = lineEnd(after: place)
            let line = bytes[place..<end].drop { Self.isBlank($0) }
            if line.first == UInt8(ascii: "[") && place > start { return nil }
            let word = line.dropFirst().drop { $0 == 0x20 }
            if line.first == UInt8(ascii: "#"), word.starts(with: key.utf8),
                word.dropFirst(key.utf8.count).first(where: { $0 != 0x20 }) == UInt8(ascii: "=")
            {
                return bytes[end - 1] == UInt8(ascii: "\n") ? end : nil
            }
            place = end
        }
        return nil
    }

    /// Inserts a line after the one on which an entry ends, or after the header if there is none.
    private mutating func insert(_ line: String, after entry: TOMLEntry?, of section: TOMLSection) {
        let end = lineEnd(after: entry?.node.range.upperBound ?? section.header.upperBound)
        let indent = entry.map { indentation(ofLineAt: $0.node.range.lowerBound) } ?? ""
        let isOpen = end > 0 && bytes[end - 1] != UInt8(ascii: "\n")
        bytes.insert(contentsOf: ((isOpen ? newline : "") + indent + line + newline).utf8, at: end)
    }

    /// Takes a setting and its line out of a block, where it has a line of its own.
    mutating func remove(_ key: String, of name: String, at index: Int) {
        let blocks = self.blocks(name)
        guard blocks.indices.contains(index),
            let entry = blocks[index].entry(key)
        else { return }
        bytes.removeSubrange(lineStart(of: entry.node.range.lowerBound)..<lineEnd(after: entry.node.range.upperBound))
    }

    /// Sets a list. Of a list with one element on each line, the lines of elements that stay are kept as they are.
    mutating func setList<Element: Equatable>(
        _ key: String, of name: String, at index: Int, from old: [Element], to new: [Element],
        quoting text: (Element) -> String
    ) {
        let value = TOMLText.list(new.map(text))
        let blocks = self.blocks(name)
        guard blocks.indices.contains(index),
            let entry = blocks[index].entry(key),
            entry.elements.count == old.count, isOnePerLine(entry), !new.isEmpty
        else {
            set(key, of: name, at: index, to: value)
            return
        }
        let kept = old.filter { new.contains($0) }
        guard new.starts(with: kept), !kept.isEmpty else {
            set(key, of: name, at: index, to: value)
            return
        }
        let added = new.dropFirst(kept.count).map { TOMLText.quoted(text($0)) }
        let indent = indentation(ofLineAt: entry.elements[0].lowerBound)
        // From the end to the front, so that the offsets before stay true.
        var isLastKept = true
        for (element, range) in zip(old, entry.elements).reversed() {
            let end = lineEnd(after: range.upperBound)
            guard new.contains(element) else {
                bytes.removeSubrange(lineStart(of: range.lowerBound)..<end)
                continue
            }
            if isLastKept, !added.isEmpty {
                bytes.insert(contentsOf: added.map { indent + $0 + "," + newline }.joined().utf8, at: end)
                if !hasComma(after: range.upperBound) { bytes.insert(UInt8(ascii: ","), at: range.upperBound) }
            }
            isLastKept = false
        }
    }

    /// Replaces a value; the comments inside it move above it, each on a line of its own.
    private mutating func keep(_ comments: [Range<Int>], replacing value: Range<Int>, with text: String) {
        let start = lineStart(of: value.lowerBound)
        let indent = indentation(ofLineAt: value.lowerBound)
        let lines = comments.map { indent + String(decoding: bytes[$0], as: UTF8.self) + newline }.joined()
        bytes.replaceSubrange(value, with: text.utf8)
        bytes.insert(contentsOf: lines.utf8, at: start)
    }

    // MARK: - Lines

    /// The line end that the text uses.
    private var newline: String {
        guard let first = bytes.firstIndex(of: UInt8(ascii: "\n")), first > 0 else { return "\n" }
        return bytes[first - 1] == UInt8(ascii: "\r") ? "\r\n" : "\n"
    }

    private static func isBlank(_ byte: UInt8) -> Bool { " \t\r\n".utf8.contains(byte) }

    /// The offset after the line end that follows `offset`, or the text's end.
    private func lineEnd(after offset: Int) -> Int {
        bytes[offset...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
    }

    private func lineStart(of offset: Int) -> Int {
        bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    }

    private func indentation(ofLineAt offset: Int) -> String {
        String(decoding: bytes[lineStart(of: offset)...].prefix { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
    }

    private func isBlankLine(at start: Int) -> Bool { bytes[start..<lineEnd(after: start)].allSatisfy(Self.isBlank) }

    /// Whether the line before `offset`, which starts a line, is blank.
    private func endsWithBlankLine(_ offset: Int) -> Bool {
        guard offset > 0, bytes[offset - 1] == UInt8(ascii: "\n") else { return false }
        return isBlankLine(at: lineStart(of: offset - 1))
    }

    /// Whether each element has a line to itself, with a comma and a comment at most.
    private func isOnePerLine(_ entry: TOMLEntry) -> Bool {
        var lastStart = lineStart(of: entry.node.range.lowerBound)
        for element in entry.elements {
            let start = lineStart(of: element.lowerBound)
            guard start > lastStart, bytes[start..<element.lowerBound].allSatisfy(Self.isBlank) else { return false }
            lastStart = start
            let rest = bytes[element.upperBound..<lineEnd(after: element.upperBound)]
                .prefix { $0 != UInt8(ascii: "#") }
            guard rest.allSatisfy({ Self.isBlank($0) || $0 == UInt8(ascii: ",") }) else { return false }
        }
        // A comma at the start of the next line would be left behind.
        return entry.elements.dropLast().allSatisfy { hasComma(after: $0.upperBound) }
    }

    private func hasComma(after offset: Int) -> Bool {
        bytes[offset..<lineEnd(after: offset)].prefix { $0 != UInt8(ascii: "#") }.contains(UInt8(ascii: ","))
    }
}

extension TOMLSection {
    /// The entry of a key that is not dotted.
    fileprivate func entry(_ key: String) -> TOMLEntry? { entries.first { $0.keys.map(\.text) == [key] } }
}

extension TOMLEntry {
    /// The bytes of the elements, if the value is a list.
    fileprivate var elements: [Range<Int>] {
        guard case .array(let nodes) = node.value else { return [] }
        return nodes.map(\.range)
    }
}
