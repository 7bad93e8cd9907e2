/// A selected path that has another name now.
public struct SelectionMove: Hashable, Sendable {
    public var from: String
    /// Nil if a line selects what it is now already.
    public var to: String?

    public init(from: String, to: String?) {
        self.from = from
        self.to = to
    }
}

/// Lines that follow what they name.
extension SelectionEditor {
    /// Gives what was selected at `from`, with all lines below it and its marks, lines at `to`.
    ///
    /// The old lines stay, with a mark: without them the old name would not be announced as deleted. `ending` takes them
    /// out.
    ///
    /// Throws `invalidPath`, `inexpressiblePath`, or `overruled` if a line that stands already leaves a new path out.
    public func following(_ moves: [SelectionMove]) throws(IgnoreError) -> SelectionEdit {
        let own = entries
        let marked = Set(file.paths(marked: .moved))
        var draft = IgnoreDraft(file)
        for move in moves {
            let from = try PathText.components(of: move.from)
            if !marked.contains(move.from) {
                draft.insert(try SelectionMark.moved.text(of: from), before: endOfEntries)
            }
            guard let to = move.to else { continue }
            try follow(own, from, try PathText.components(of: to), in: &draft)
        }
        let edit = try draft.finish()
        let selection = try Selection(edit.file, include: include)
        for case let to? in moves.map(\.to) {
            let explanation = selection.explain(to)
            guard explanation.decision.isIgnored else { continue }
            throw IgnoreError(
                .overruled, "“\(to)” is excluded by the line “\(explanation.pattern?.text ?? "")”",
                file: explanation.pattern?.file, line: explanation.pattern?.line)
        }
        return edit
    }

    private func follow(
        _ own: [Entry], _ from: [[UInt8]], _ to: [[UInt8]], in draft: inout IgnoreDraft
    ) throws(IgnoreError) {
        // The first line for a directory above decides what is below it, so what is more exact stands before it.
        let governing = own.first { $0.components.count < to.count && to.starts(with: $0.components) }
        let position = governing?.lineIndex ?? endOfEntries
        for entry in own where entry.components.starts(with: from) {
            if entry.components.count == from.count, entry.isIncluding, governing?.isIncluding == true { continue }
            let path = to + entry.components.dropFirst(from.count)
            guard !own.contains(where: { $0.components == path && $0.isIncluding == entry.isIncluding }) else {
                continue
            }
            draft.insert(try PathText.line(naming: path, isIncluding: entry.isIncluding, in: file), before: position)
        }
        guard governing?.isIncluding != true else { return }
        var marks = Set(file.lines.map { IgnoreFile.trimmed(String(decoding: $0.bytes, as: UTF8.self)) })
        for line in file.lines {
            guard let (mark, path) = SelectionMark.read(line), mark != .moved,
                let components = try? PathText.components(of: path), components.starts(with: from)
            else { continue }
            let text = try mark.text(of: to + components.dropFirst(from.count))
            if marks.insert(text).inserted { draft.insert(text, before: endOfEntries) }
        }
    }

    /// Ends what `following` began: the marks of all these paths go, and of `dropped` the lines and marks at and below
    /// them.
    ///
    /// - Throws: `tooLarge` if the file would exceed `IgnoreLimits`.
    public func ending(dropped: [String], kept: [String]) throws(IgnoreError) -> SelectionEdit {
        var draft = IgnoreDraft(file)
        let (over, staying) = (PathSet(dropped), Set(kept))
        for entry in entries where over.contains(entry.path) { draft.remove(entry.lineIndex) }
        for (index, line) in file.lines.enumerated() {
            guard let (mark, path) = SelectionMark.read(line) else { continue }
            if over.contains(path) || (mark == .moved && staying.contains(path)) { draft.remove(index) }
        }
        return try draft.finish()
    }
}
