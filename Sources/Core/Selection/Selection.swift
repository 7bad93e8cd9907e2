/// Which paths of a folder this device keeps: an ignore file, compiled.
///
/// Paths are relative to the folder's root, separated by `/`, in Unicode form C, without empty, `.` and `..`
/// components; `""` and `"."` stand for the root. A path in another form gets some answer, never a trap.
///
/// The first line that matches decides, and what none matches is included, exactly as in Syncthing, down to the overlap
/// of `a/**/x`. Faults of its glob library that nobody would write for are not copied: before 1.20.3 it took the bytes
/// of a character for characters next to `?` or a class; it overlooks some matches of empty alternatives, and of
/// braces with wildcards in them; and its `***` takes one character at least.
public struct Selection: Sendable, Equatable {
    /// The patterns in the order in which they are tried, those of included files in the place of the `#include`.
    public private(set) var patterns: [IgnorePattern]

    /// The patterns without `(?i)`, as they were when all were compiled.
    private let exactCase: PatternTable
    /// The patterns with `(?i)`, if there are any.
    private let foldedCase: PatternTable?
    /// What each pattern says when it is the one that decides.
    private var decisions: [Decision]
    /// The first line that excludes names by a pattern rather than by a literal path; none if there is no such line.
    private let firstOpenLeavingOut: PathTrie.LineIndex
    /// Lines that came before the one that matches everything since the others were compiled; nil if there is no such line.
    private var added: AddedLines?

    /// A selection of everything: no patterns at all.
    public static let everything = Selection(patterns: [])

    /// Compiles `file` and what it includes.
    ///
    /// `include` gets the path of a file relative to the folder's root, which may begin with `..`, and returns its
    /// text; whatever it throws ends up in the message of an `IgnoreError`. Without it every `#include` is an error.
    public init(
        _ file: IgnoreFile,
        include: (String) throws -> String = IgnoreFile.includingNothing
    ) throws(IgnoreError) {
        self.init(patterns: try IgnoreList(file, include: include).patterns)
    }

    /// Parses and compiles the text of an ignore file.
    ///
    /// - Throws: what `IgnoreFile(parsing:name:)` throws, and `invalidInclude` if an included file cannot be read or
    ///   parsed.
    public init(
        parsing text: String, name: String = IgnoreFile.defaultName,
        include: (String) throws -> String = IgnoreFile.includingNothing
    ) throws(IgnoreError) {
        try self.init(IgnoreFile(parsing: text, name: name), include: include)
    }

    private init(patterns: [IgnorePattern]) {
        self.patterns = patterns
        decisions = patterns.enumerated().map { index, pattern in
            Decision(isIgnored: pattern.isIgnoring, isDeletable: pattern.isDeletable, reason: .pattern(index))
        }
        var exact: [(line: PathTrie.LineIndex, pattern: IgnorePattern)] = []
        var folded: [(line: PathTrie.LineIndex, pattern: IgnorePattern)] = []
        for (index, pattern) in patterns.enumerated() {
            let line = PathTrie.LineIndex(truncatingIfNeeded: index)
            if pattern.foldsCase { folded.append((line, pattern)) } else { exact.append((line, pattern)) }
            // Nothing that comes later can be the first to match.
            if pattern.matchesEverything { break }
        }
        firstOpenLeavingOut =
            patterns.firstIndex { $0.isIgnoring && $0.literalPath == nil }.map { .init(truncatingIfNeeded: $0) }
            ?? PathTrie.none
        // Lines that others outdo by case are kept: that only lets a walk open a directory in vain.
        exactCase = PatternTable(exact).markingEffects { Selection.effect($0, patterns[Int($0)], in: $1) }
        foldedCase =
            folded.isEmpty
            ? nil : PatternTable(folded).markingEffects { Selection.effect($0, patterns[Int($0)], in: $1) }
        added = patterns.firstIndex(where: \.matchesEverything).map { AddedLines(start: .init(truncatingIfNeeded: $0)) }
    }

    /// The same with one more `!/path` line, before the rule for what nobody named.
    ///
    /// - Parameters:
    ///   - components: the path's.
    ///   - lineCount: by how many lines what comes behind moves down.
    /// - Returns: nil where other lines say something about the path or what is below it, or nothing excludes the rest.
    func adding(_ pattern: IgnorePattern, at components: [[UInt8]], lineCount: Int) -> Selection? {
        guard let added, patterns[added.end].isIgnoring, let path = pattern.literalPath else { return nil }
        let isFree = path.withBytes { path in
            exactCase.rootedNode(path) == nil && added.table.rootedNode(path) == nil
                && decision(for: path).reason == .pattern(added.end)
        }
        // Of two equal lines the second one says nothing, and would be none of the patterns any more.
        guard isFree, !patterns[added.end...].contains(where: { $0.text.utf8.elementsEqual(pattern.text.utf8) }) else {
            return nil
        }
        var grown = self
        // bounded: the lines of one file
        for index in added.end..<patterns.count { grown.patterns[index].line += lineCount }
        grown.patterns.insert(pattern, at: added.end)
        guard added.count < AddedLines.limit else { return Selection(patterns: grown.patterns) }
        grown.decisions.removeSubrange(added.end...)
        for (index, pattern) in grown.patterns[added.end...].enumerated() {
            grown.decisions.append(
                Decision(
                    isIgnored: pattern.isIgnoring, isDeletable: pattern.isDeletable,
                    reason: .pattern(added.end + index)))
        }
        grown.added = added.adding(pattern)
        return grown
    }

    /// Whether a rooted literal line includes anything or leaves it out, or is outdone by literal lines before it.
    private static func effect(
        _ line: PathTrie.LineIndex, _ pattern: IgnorePattern, in table: PatternTable
    ) -> PathTrie.Effect {
        guard let path = pattern.literalPath else { return .none }
        let isAlive = path.withBytes { path in
            var steps = 0
            return table.firstLine(.itself, path, includingGlobs: false, steps: &steps) == line
                || table.firstLine(.everythingBelow, path, includingGlobs: false, steps: &steps) >= line
        }
        return isAlive ? (pattern.isIgnoring ? .leavesOut : .includes) : .none
    }

    public static func == (left: Self, right: Self) -> Bool { left.patterns == right.patterns }

    // MARK: Deciding

    /// What the ignore file says about `path`: whether it is ignored, whether deletable, and by which line.
    public func decision(for path: String) -> Decision {
        path.withBytes { decision(for: $0) }
    }

    /// The same for the UTF-8 of a path.
    public func decision(for path: UnsafeBufferPointer<UInt8>) -> Decision {
        var steps = 0
        return decision(for: path, steps: &steps)
    }

    /// The same, adding to `steps` the work of the matchers whose cost depends on the pattern.
    func decision(for path: UnsafeBufferPointer<UInt8>, steps: inout Int) -> Decision {
        if PathBytes.isRoot(path) { return Decision(isIgnored: false, isDeletable: false, reason: .root) }
        if PathBytes.isTemporary(path) {
            return Decision(isIgnored: true, isDeletable: false, reason: .temporaryName)
        }
        if PathBytes.isInternal(path) { return Decision(isIgnored: true, isDeletable: false, reason: .internalName) }
        let line = firstLine(.itself, path, steps: &steps)
        guard line != PathTrie.none else { return Decision(isIgnored: false, isDeletable: false, reason: .noPattern) }
        return decisions[Int(line)]
    }

    private func firstLine(
        _ question: PatternTable.Question, _ path: UnsafeBufferPointer<UInt8>, steps: inout Int
    ) -> PathTrie.LineIndex {
        let first = firstCompiled(question, path, steps: &steps)
        guard let added, added.count > 0, first >= added.start else { return first }
        return min(added.moved(first), added.table.firstLine(question, path, steps: &steps))
    }

    /// The same without the lines that were added, by the numbers that lines had before.
    private func firstCompiled(
        _ question: PatternTable.Question, _ path: UnsafeBufferPointer<UInt8>, steps: inout Int
    ) -> PathTrie.LineIndex {
        let first = exactCase.firstLine(question, path, steps: &steps)
        guard let foldedCase else { return first }
        return CaseFolding.lowercased(path).withUnsafeBufferPointer { folded in
            min(first, foldedCase.firstLine(question, folded, steps: &steps))
        }
    }

    public func isIgnored(_ path: String) -> Bool { decision(for: path).isIgnored }

    /// How `path` comes to be kept; a directory that is only on the way to something selected counts as `no`.
    public func selectedState(of path: String) -> SelectedState {
        path.withBytes { path in
            if decision(for: path).isIgnored { return .no }
            return isNamed(path) ? .explicit : .implicit
        }
    }

    /// Whether a `!/path` line names this very path.
    private func isNamed(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !PathBytes.isRoot(path) else { return false }
        func isNamed(in table: PatternTable, _ path: UnsafeBufferPointer<UInt8>) -> Bool {
            guard let node = table.rootedNode(path) else { return false }
            let line = table.rooted.nodes[node].exact
            return line != PathTrie.none && !decisions[Int(line)].isIgnored
        }
        if isNamed(in: exactCase, path) { return true }
        if let table = added?.table, let node = table.rootedNode(path) {
            // All of these include.
            if table.rooted.nodes[node].exact != PathTrie.none { return true }
        }
        guard let foldedCase else { return false }
        return CaseFolding.lowercased(path).withUnsafeBufferPointer { isNamed(in: foldedCase, $0) }
    }

    // MARK: Walking

    /// Whether a walk must open this directory because something below it may be included.
    ///
    /// Exact where rooted lines without wildcards decide; with others, true if in doubt.
    public func mayContainSelected(_ directory: String) -> Bool {
        directory.withBytes { directory in
            let directory = PathBytes.isRoot(directory) ? UnsafeBufferPointer(rebasing: directory[..<0]) : directory
            if PathBytes.isInternal(directory) { return false }
            var steps = 0
            let limit = firstLine(.everythingBelow, directory, steps: &steps)
            guard limit != PathTrie.none, decisions[Int(limit)].isIgnored else { return true }
            if let added, added.table.mayInclude(below: directory, before: limit, steps: &steps) { return true }
            let before = added?.compiled(limit) ?? limit
            if exactCase.mayInclude(below: directory, before: before, steps: &steps) { return true }
            guard let foldedCase else { return false }
            return CaseFolding.lowercased(directory).withUnsafeBufferPointer { folded in
                foldedCase.mayInclude(below: folded, before: before, steps: &steps)
            }
        }
    }

    /// Whether a walk that looks for excluded files must open this directory.
    ///
    /// Exact where rooted lines without wildcards decide; with others, true if in doubt. Names of the agent's own, which no line
    /// decides, are not meant.
    public func mayContainLeftOut(_ directory: String) -> Bool {
        let isDecided = directory.withBytes { directory in
            let directory = PathBytes.isRoot(directory) ? UnsafeBufferPointer(rebasing: directory[..<0]) : directory
            if PathBytes.isInternal(directory) { return false }
            var steps = 0
            let limit = firstLine(.everythingBelow, directory, steps: &steps)
            guard limit == PathTrie.none || !decisions[Int(limit)].isIgnored else { return false }
            return (added?.moved(firstOpenLeavingOut) ?? firstOpenLeavingOut) >= limit
        }
        return !isDecided || isParentOfLeftOut(directory)
    }

    /// Whether the path is a directory above something that a `!/path` line selects, so that it is kept as well,
    /// though it may be ignored itself.
    ///
    /// Patterns with wildcards are not looked at: what they include is known only when it is met.
    public func isParentOfSelected(_ path: String) -> Bool { hasLine(below: path) { $0.includeBelow } }

    /// Whether the path is a directory above something that a `/path` line leaves out, though it may be kept itself.
    ///
    /// Patterns with wildcards are not looked at.
    public func isParentOfLeftOut(_ path: String) -> Bool { hasLine(below: path) { $0.leaveOutBelow } }

    /// Whether a rooted line decides of something below `path`, `first` being the node's first such line.
    private func hasLine(below path: String, _ first: (PathTrie.Node) -> PathTrie.LineIndex) -> Bool {
        path.withBytes { path in
            let path = PathBytes.isRoot(path) ? UnsafeBufferPointer(rebasing: path[..<0]) : path
            if PathBytes.isInternal(path) { return false }
            var steps = 0
            let limit = firstLine(.everythingBelow, path, steps: &steps)
            func isParent(in table: PatternTable, _ path: UnsafeBufferPointer<UInt8>) -> Bool {
                table.rootedNode(path).map { first(table.rooted.nodes[$0]) < limit } ?? false
            }
            // These lines stand before all that were added, and keep their numbers.
            if isParent(in: exactCase, path) { return true }
            if let added, isParent(in: added.table, path) { return true }
            guard let foldedCase else { return false }
            return CaseFolding.lowercased(path).withUnsafeBufferPointer { isParent(in: foldedCase, $0) }
        }
    }

    /// Whether the path is ignored and is not kept as the parent of something selected by name either.
    public func isLeftOut(_ path: String) -> Bool { isIgnored(path) && !isParentOfSelected(path) }

    // MARK: Explaining

    /// Which line decides about `path`, and through which of the directories above it.
    public func explain(_ path: String) -> Explanation {
        let decision = decision(for: path)
        return Explanation(
            path: path, decision: decision, selected: selectedState(of: path),
            pattern: decision.patternIndex.map { patterns[$0] },
            matchedPath: decision.patternIndex.map { matchedPath(path, by: patterns[$0]) },
            isParentOfSelected: isParentOfSelected(path))
    }

    private func matchedPath(_ path: String, by pattern: IgnorePattern) -> String {
        let alone = PatternTable([(0, pattern)])
        let bytes = Array(path.utf8)
        let subject =
            pattern.foldsCase ? bytes.withUnsafeBufferPointer(CaseFolding.lowercased) : bytes
        for (index, byte) in subject.enumerated() where byte == PathBytes.slash {
            var steps = 0
            let matches = subject.withUnsafeBufferPointer { subject in
                alone.firstLine(.itself, UnsafeBufferPointer(rebasing: subject[..<index]), steps: &steps) == 0
            }
            guard matches else { continue }
            // Folding may change the number of bytes, but not that of the components.
            let depth = subject[..<index].split(separator: PathBytes.slash).count
            return path.components().prefix(depth).joined(separator: "/")
        }
        return path
    }
}
