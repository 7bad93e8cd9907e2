/// What an edit of an ignore file comes to.
public struct SelectionEdit: Sendable, Equatable {
    /// The file after the edit.
    public let file: IgnoreFile
    /// The pattern lines that it has now and had not before, in file order.
    public let added: [String]
    /// The pattern lines that it had before and has no more, in file order.
    public let removed: [String]

    public var isChange: Bool { !added.isEmpty || !removed.isEmpty }
}

/// Edits an ignore file so that it keeps the shape that Sushitrain and Syncthing users know: ignores that hold
/// everywhere first, then one `!/path` for each selected path, then `*` for the rest.
///
/// A value: it reads one file and returns others. Comments, blank lines and lines that it does not understand stay as
/// they are. In a file without the final `*` everything is kept, and deselecting writes `/path` lines.
///
/// The editor's own lines are the rooted ones without wildcards and prefixes other than `!`, up to the first line that
/// matches everything.
public struct SelectionEditor {
    public let file: IgnoreFile
    let include: (String) throws -> String

    /// `include` reads included files, as in `Selection`; their lines are obeyed and never edited.
    public init(
        _ file: IgnoreFile,
        include: @escaping (String) throws -> String = IgnoreFile.includingNothing
    ) {
        self.file = file
        self.include = include
    }

    /// Whether the file leaves out whatever it does not name.
    public var isSelective: Bool { catchAll?.pattern.isIgnoring ?? false }

    /// The explicitly selected paths in the order of their lines.
    public func list() -> [String] {
        var seen: Set<[UInt8]> = []
        return entries.filter(\.isIncluding).filter { seen.insert(Array($0.path.utf8)).inserted }.map(\.path)
    }

    /// Whether lines of this file can select and deselect `path` alone. A name with a line break is one that they cannot.
    public func canName(_ path: String) -> Bool {
        do throws(IgnoreError) {
            let components = try PathText.components(of: path)
            for isIncluding in [false, true] {
                _ = try PathText.line(naming: components, isIncluding: isIncluding, in: file)
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: Selecting

    /// Selects `path` and all that is and will be below it.
    ///
    /// - Throws: `invalidPath`, `inexpressiblePath`, `tooLarge`, or `overruled` if a line that the editor does not own
    ///   decides otherwise.
    public func selecting(_ path: String) throws(IgnoreError) -> SelectionEdit { try selecting([path]) }

    /// Selects several paths at once; those that lie below others of them need no line of their own. With `whileSpace`
    /// each is marked as what may go when space is short.
    ///
    /// Throws `invalidPath`, `inexpressiblePath`, or `overruled` if a line that is not the editor's own ignores one.
    public func selecting(_ paths: [String], whileSpace: Bool = false) throws(IgnoreError) -> SelectionEdit {
        try edited(paths, selecting: true, adding: whileSpace ? .whileSpace : nil)
    }

    /// Marks paths as not to be asked about, in place of marks below them.
    ///
    /// - Throws: `invalidPath`, `inexpressiblePath` or `tooLarge`.
    public func leavingAlone(_ paths: [String]) throws(IgnoreError) -> SelectionEdit {
        let targets = try Targets(paths)
        var draft = IgnoreDraft(file)
        let kept = PathSet(file.paths(marked: .leaveAlone))
        let new = targets.topmost.filter { !kept.contains(PathText.joined($0)) }
        let subsumed = try Targets(new.map(PathText.joined))
        try addMarks(.leaveAlone, of: new, replacing: subsumed, in: &draft)
        return try draft.finish()
    }

    private func addMarks(
        _ mark: SelectionMark?, of paths: [[[UInt8]]], replacing targets: Targets, in draft: inout IgnoreDraft
    ) throws(IgnoreError) {
        var texts: Set<String> = []
        if let mark { for path in paths { texts.insert(try mark.text(of: path)) } }
        for (index, line) in file.lines.enumerated() {
            guard let (_, path) = SelectionMark.read(line), let components = try? PathText.components(of: path),
                targets.contains(atOrAbove: components)
            else { continue }
            let text = IgnoreFile.trimmed(String(decoding: line.bytes, as: UTF8.self))
            if texts.remove(text) == nil { draft.remove(index) }
        }
        for text in texts.sorted() { draft.insert(text, before: endOfEntries) }
    }

    /// Deselects `path` and all below it; in a selected directory this takes a line that leaves the path out.
    ///
    /// - Throws: as `selecting`.
    public func deselecting(_ path: String) throws(IgnoreError) -> SelectionEdit { try deselecting([path]) }

    /// Deselects several paths at once.
    ///
    /// Throws `invalidPath`, `inexpressiblePath`, or `overruled` if a line that is not the editor's own includes one.
    public func deselecting(_ paths: [String]) throws(IgnoreError) -> SelectionEdit {
        try edited(paths, selecting: false)
    }

    /// Of files, those that stay selected when they are deselected by name: a line that is not the editor's own includes them.
    ///
    /// - Throws: `invalidPath`, or what is wrong with an included file.
    public func overruled(deselecting files: [String]) throws(IgnoreError) -> Set<String> {
        let others = try Selection(file, include: include).patterns.filter(isOthersInclusion)
        guard !others.isEmpty else { return [] }
        let targets = try Targets(files)
        var draft = IgnoreDraft(file)
        for entry in entries where targets.contains(atOrAbove: entry.components) { draft.remove(entry.lineIndex) }
        let rest = try Selection(try draft.finish().file, include: include)
        // A new line goes before the one of a directory above, and after those that the editor does not own.
        return Set(files.filter { rest.explain($0).pattern.map(isOthersInclusion) ?? false })
    }

    /// Whether it is a line with `!` that is not the editor's own.
    private func isOthersInclusion(_ pattern: IgnorePattern) -> Bool {
        guard !pattern.isIgnoring, !pattern.matchesEverything else { return false }
        return pattern.file != file.name || Entry(pattern, lineIndex: pattern.line) == nil
    }

    private func edited(
        _ paths: [String], selecting: Bool, adding mark: SelectionMark? = nil
    ) throws(IgnoreError) -> SelectionEdit {
        let targets = try Targets(paths)
        var draft = IgnoreDraft(file)
        let own = entries
        let governing = PathTrie(
            own.filter { !targets.contains(atOrAbove: $0.components) }.map { entry in
                PathTrie.Entry(
                    components: entry.components, line: PathTrie.LineIndex(truncatingIfNeeded: entry.lineIndex),
                    matchesContentOnly: false)
            })
        for entry in own where targets.contains(atOrAbove: entry.components) { draft.remove(entry.lineIndex) }
        // What was said of these paths before is over.
        try addMarks(mark, of: targets.topmost, replacing: targets, in: &draft)
        for components in targets.topmost {
            // The first of the remaining lines for a directory above decides about the path, or else the rest's rule.
            let line = governing.firstLine(above: components)
            let isIncluded = line.map { file.lines[$0].pattern?.isIgnoring == false } ?? !isSelective
            guard isIncluded != selecting else { continue }
            let text = try PathText.line(naming: components, isIncluding: selecting, in: file)
            draft.insert(text, before: line ?? endOfEntries)
        }
        let edit = try draft.finish()
        try verify(edit, targets, selecting: selecting)
        return edit
    }

    /// Refuses an edit that a line which is not the editor's own makes void.
    private func verify(_ edit: SelectionEdit, _ targets: Targets, selecting: Bool) throws(IgnoreError) {
        let selection = try Selection(edit.file, include: include)
        for path in targets.topmost.map(PathText.joined) {
            let explanation = selection.explain(path)
            guard explanation.decision.isIgnored == selecting else { continue }
            guard let pattern = explanation.pattern else {
                throw IgnoreError(
                    .overruled, "“\(path)” is a reserved name; choose another path")
            }
            throw IgnoreError(
                .overruled,
                selecting
                    ? "“\(path)” is ignored by the line “\(pattern.text)”; change that line first"
                    : "“\(path)” is included by the line “\(pattern.text)”; change that line first",
                file: pattern.file, line: pattern.line)
        }
    }

    // MARK: Changing the mode

    /// Makes the file leave out whatever it does not name, with these paths selected.
    ///
    /// Keeps what is ignored; lines with `!` that are not the editor's own would select things everywhere and go.
    ///
    /// - Throws: as `selecting`.
    public func convertedToSelective(selecting paths: [String] = []) throws(IgnoreError) -> SelectionEdit {
        guard !isSelective else { return try selecting(paths) }
        var draft = IgnoreDraft(file)
        for (index, line) in file.lines.enumerated() {
            guard let pattern = line.pattern, !pattern.isIgnoring else { continue }
            if Entry(pattern, lineIndex: index) == nil { draft.remove(index) }
        }
        draft.insert("*", before: file.lines.count)
        return try SelectionEditor(try draft.finish().file, include: include).selecting(paths).since(file)
    }

    /// Makes the file keep everything but what is ignored: drops the final `*`, the selected paths, and what was left
    /// out of them.
    ///
    /// - Throws: `tooLarge` if the file would exceed `IgnoreLimits`.
    public func convertedToFull() throws(IgnoreError) -> SelectionEdit {
        guard isSelective, let catchAll else { return SelectionEdit(file: file, added: [], removed: []) }
        var draft = IgnoreDraft(file)
        let selected = PathTrie(
            entries.filter(\.isIncluding).map { entry in
                PathTrie.Entry(components: entry.components, line: 0, matchesContentOnly: false)
            })
        for entry in entries where entry.isIncluding || selected.firstLine(above: entry.components) != nil {
            draft.remove(entry.lineIndex)
        }
        // Lines behind the `*` had no say; they must not get one now.
        for (index, line) in file.lines.enumerated() where index >= catchAll.lineIndex && line.pattern != nil {
            draft.remove(index)
        }
        return try draft.finish()
    }

    // MARK: The editor's own lines

    /// A line that names one path, selected or left out.
    struct Entry {
        let lineIndex: Int
        let isIncluding: Bool
        let components: [[UInt8]]

        var path: String { PathText.joined(components) }

        init?(_ pattern: IgnorePattern, lineIndex: Int) {
            guard pattern.isRooted, !pattern.foldsCase, !pattern.isDeletable,
                case .literal(let components) = pattern.shape
            else { return nil }
            self.lineIndex = lineIndex
            self.components = components
            isIncluding = !pattern.isIgnoring
        }
    }

    private var catchAll: (lineIndex: Int, pattern: IgnorePattern)? {
        for (index, line) in file.lines.enumerated() {
            if let pattern = line.pattern, pattern.matchesEverything { return (index, pattern) }
        }
        return nil
    }

    var entries: [Entry] {
        file.lines[..<(catchAll?.lineIndex ?? file.lines.count)].enumerated().compactMap { index, line in
            line.pattern.flatMap { Entry($0, lineIndex: index) }
        }
    }

    /// The line before which a path's line goes if none for a directory above it is in the way: behind the last
    /// pattern before the rest's rule, so that comments about that rule stay with it.
    var endOfEntries: Int {
        let end = catchAll?.lineIndex ?? file.lines.count
        let isRule = { (line: IgnoreFile.Line) in
            switch line.content {
            case .blank, .comment: false
            case .include, .escape, .pattern: true
            }
        }
        return file.lines[..<end].lastIndex(where: isRule).map { $0 + 1 } ?? end
    }
}

/// The paths of one request, without those that lie below others.
private struct Targets {
    private(set) var topmost: [[[UInt8]]] = []
    private let trie: PathTrie

    init(_ paths: [String]) throws(IgnoreError) {
        var all: [[[UInt8]]] = []
        for path in paths { all.append(try PathText.components(of: path)) }
        trie = PathTrie(all.map { PathTrie.Entry(components: $0, line: 0, matchesContentOnly: false) })
        var seen: Set<[[UInt8]]> = []
        for path in all where trie.firstLine(above: path) == nil && seen.insert(path).inserted { topmost.append(path) }
    }

    func contains(atOrAbove path: [[UInt8]]) -> Bool { trie.firstLine(along: path[...]) != nil }
}

extension PathTrie {
    /// The first line that names a directory above the path.
    fileprivate func firstLine(above components: [[UInt8]]) -> Int? { firstLine(along: components.dropLast()) }

    /// The first line that names the path or a directory above it.
    fileprivate func firstLine(along components: ArraySlice<[UInt8]>) -> Int? {
        var first = PathTrie.none
        var node = PathTrie.root
        for name in components {
            let child = name.withUnsafeBufferPointer { self.child(of: node, named: $0, key: PathTrie.key(of: $0)) }
            guard let child else { break }
            node = child
            first = min(first, nodes[node].exact)
        }
        return first == PathTrie.none ? nil : Int(first)
    }
}

extension SelectionEdit {
    /// The same edit as seen from a file that came before.
    fileprivate func since(_ earlier: IgnoreFile) -> SelectionEdit {
        let before = Set(earlier.lines.compactMap { $0.pattern.map { Array($0.text.utf8) } })
        let after = Set(file.lines.compactMap { $0.pattern.map { Array($0.text.utf8) } })
        return SelectionEdit(
            file: file,
            added: file.lines.compactMap { $0.pattern?.text }.filter { !before.contains(Array($0.utf8)) },
            removed: earlier.lines.compactMap { $0.pattern?.text }.filter { !after.contains(Array($0.utf8)) })
    }
}
