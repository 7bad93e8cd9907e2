/// The patterns that match with, or those that match without, regard to case, arranged so that the first line that
/// matches a path is found without trying them all.
struct PatternTable: Sendable {
    typealias LineIndex = PathTrie.LineIndex

    private struct ComponentEntry: Sendable {
        let glob: ComponentGlob
        let line: LineIndex
        let isRooted: Bool
        let isIncluding: Bool
        let matchesContentOnly: Bool
    }

    private(set) var rooted: PathTrie
    private let floating: PathTrie
    private let prefixes: AffixTable
    private let suffixes: AffixTable
    private let components: [ComponentEntry]
    private let general: [GeneralPattern]
    /// The first line that matches everything.
    private let everything: LineIndex
    /// The first line without a place in the tree of rooted paths that includes; it may do so in any directory.
    private let firstFloatingInclude: LineIndex

    init(_ patterns: [(line: LineIndex, pattern: IgnorePattern)]) {
        var rooted: [PathTrie.Entry] = []
        var floating: [PathTrie.Entry] = []
        var prefixes: [AffixTable.Entry] = []
        var suffixes: [AffixTable.Entry] = []
        var components: [ComponentEntry] = []
        var general: [GeneralPattern] = []
        var everything = PathTrie.none
        var firstFloatingInclude = PathTrie.none
        for (line, pattern) in patterns {
            let contentOnly = pattern.matchesContentOnly
            var isFloating = true
            switch pattern.shape {
            case .everything:
                everything = min(everything, line)
            case .literal(let names):
                let entry = PathTrie.Entry(components: names, line: line, matchesContentOnly: contentOnly)
                if pattern.isRooted { rooted.append(entry) } else { floating.append(entry) }
                isFloating = !pattern.isRooted
            case .prefix(let affix):
                prefixes.append(AffixTable.Entry(affix: affix, line: line, matchesContentOnly: contentOnly))
            case .suffix(let affix):
                suffixes.append(AffixTable.Entry(affix: affix, line: line, matchesContentOnly: contentOnly))
            case .component(let glob):
                // One that is rooted matches at the root or through a match there, never first further down.
                isFloating = !pattern.isRooted
                components.append(
                    ComponentEntry(
                        glob: glob, line: line, isRooted: pattern.isRooted, isIncluding: !pattern.isIgnoring,
                        matchesContentOnly: contentOnly))
            case .general:
                isFloating = false
                general.append(GeneralPattern(pattern, line: line))
            }
            if isFloating, !pattern.isIgnoring { firstFloatingInclude = min(firstFloatingInclude, line) }
        }
        self.rooted = PathTrie(rooted)
        self.floating = PathTrie(floating)
        self.prefixes = AffixTable(prefixes, areSuffixes: false)
        self.suffixes = AffixTable(suffixes, areSuffixes: true)
        self.components = components
        self.general = general
        self.everything = everything
        self.firstFloatingInclude = firstFloatingInclude
    }

    /// What is asked about a path.
    enum Question {
        /// Which line decides about the path itself.
        case itself
        /// Which line is the first that takes in everything below the path, whatever it is called.
        case everythingBelow
    }

    /// The first line that answers the question; `steps` counts the work of the dearer matchers.
    func firstLine(
        _ question: Question, _ path: UnsafeBufferPointer<UInt8>, includingGlobs: Bool = true, steps: inout Int
    ) -> LineIndex {
        var first = min(everything, firstLiteral(question, path))
        guard includingGlobs else { return first }
        for entry in components {
            guard entry.line < first else { break }
            if matches(entry, question, path, steps: &steps) { first = entry.line }
        }
        for entry in general {
            guard entry.line < first else { break }
            if entry.answers(question, path, steps: &steps) { first = entry.line }
        }
        return first
    }

    /// The same for literal paths, names and their beginnings and endings, in one pass over the components.
    private func firstLiteral(_ question: Question, _ path: UnsafeBufferPointer<UInt8>) -> LineIndex {
        var first = PathTrie.none
        var node: Int? = rooted.isEmpty ? nil : PathTrie.root
        let looksAtNames = !(floating.isEmpty && prefixes.isEmpty && suffixes.isEmpty)
        var start = 0
        while start < path.count, node != nil || looksAtNames {
            let end = path.endOfComponent(from: start)
            let name = UnsafeBufferPointer(rebasing: path[start..<end])
            let isLast = end == path.count && question == .itself
            let key = PathTrie.key(of: name)
            if let parent = node {
                node = rooted.child(of: parent, named: name, key: key)
                if let node { first = min(first, isLast ? rooted.nodes[node].exact : rooted.nodes[node].below) }
            }
            if !floating.isEmpty, let child = floating.child(of: PathTrie.root, named: name, key: key) {
                first = min(first, followFloating(from: child, question, path, end: end))
            }
            if !prefixes.isEmpty { first = min(first, prefixes.firstLine(matching: name, isLast: isLast)) }
            if !suffixes.isEmpty { first = min(first, suffixes.firstLine(matching: name, isLast: isLast)) }
            start = end + 1
        }
        return first
    }

    /// Follows a row of names that began further up and of which the last ends at `end`.
    private func followFloating(
        from child: Int, _ question: Question, _ path: UnsafeBufferPointer<UInt8>, end: Int
    ) -> LineIndex {
        var first = PathTrie.none
        var node = child
        var end = end
        while true {
            let isLast = end == path.count && question == .itself
            first = min(first, isLast ? floating.nodes[node].exact : floating.nodes[node].below)
            guard end < path.count else { return first }
            let start = end + 1
            end = path.endOfComponent(from: start)
            let name = UnsafeBufferPointer(rebasing: path[start..<end])
            guard let next = floating.child(of: node, named: name, key: PathTrie.key(of: name)) else { return first }
            node = next
        }
    }

    private func matches(
        _ entry: ComponentEntry, _ question: Question, _ path: UnsafeBufferPointer<UInt8>, steps: inout Int
    ) -> Bool {
        var start = 0
        while start < path.count {
            let end = path.endOfComponent(from: start)
            let isLast = end == path.count && question == .itself
            if !(isLast && entry.matchesContentOnly) {
                let name = UnsafeBufferPointer(rebasing: path[start..<end])
                if entry.glob.matches(name, steps: &steps) { return true }
            }
            if entry.isRooted { return false }
            start = end + 1
        }
        return false
    }

    /// Whether a line before `limit` may include something below `directory`, which no line before it covers: exact
    /// for rooted paths, otherwise true if in doubt.
    func mayInclude(
        below directory: UnsafeBufferPointer<UInt8>, before limit: LineIndex, steps: inout Int
    ) -> Bool {
        if firstFloatingInclude < limit { return true }
        if let node = rootedNode(directory), rooted.nodes[node].includeBelow < limit { return true }
        if directory.isEmpty,
            components.contains(where: { $0.line < limit && $0.isRooted && $0.isIncluding })
        {
            return true
        }
        return general.contains { entry in
            entry.line < limit && entry.isIncluding && entry.canMatch(below: directory, steps: &steps)
        }
    }

    /// The node of a path that rooted lines name, or have on their way.
    func rootedNode(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        var node = PathTrie.root
        var start = 0
        while start < path.count {
            let end = path.endOfComponent(from: start)
            let name = UnsafeBufferPointer(rebasing: path[start..<end])
            guard let child = rooted.child(of: node, named: name, key: PathTrie.key(of: name)) else { return nil }
            node = child
            start = end + 1
        }
        return node
    }

    /// The same table with what `PathTrie.markEffects` adds; `effect` is asked about lines and told the table.
    func markingEffects(_ effect: (LineIndex, PatternTable) -> PathTrie.Effect) -> PatternTable {
        var marked = self
        marked.rooted.markEffects { effect($0, self) }
        return marked
    }
}
