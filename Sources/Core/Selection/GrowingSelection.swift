/// An ignore file and what it says, to which lines for new names are added without reading its other lines again.
///
/// Says the same as `SelectionEditor.selecting([path], whileSpace: true)` where that comes to a mark and a `!/path` line before the
/// rule for the rest. All else is the editor's to do.
public struct GrowingSelection: Sendable {
    /// The ignore file.
    public private(set) var bytes: [UInt8]
    public private(set) var selection: Selection
    /// What is selected for as long as there is space.
    public private(set) var whileSpace: PathSet

    private let file: String
    private let escape: Unicode.Scalar
    private let ending: [UInt8]
    private var lineCount: Int
    /// Where the next line goes, in bytes and in lines.
    private var end: (byte: Int, line: Int)
    /// What comments say something about, and all that is above it.
    private var marked: Set<String>

    /// - Parameter selection: what `file` says.
    /// - Returns: nil for a file that excludes nothing by a last rule of its own, or includes others.
    public init?(_ file: IgnoreFile, _ selection: Selection) {
        let editor = SelectionEditor(file)
        let hasOthers = file.lines.contains { if case .include = $0.content { true } else { false } }
        guard editor.isSelective, !hasOthers else { return nil }
        bytes = file.bytes
        self.selection = selection
        self.file = file.name
        escape = file.escape
        ending = IgnoreDraft.ending(of: file)
        lineCount = file.lines.count
        let line = editor.endOfEntries
        // bounded: the bytes of one file
        end = (file.lines[..<line].reduce(0) { $0 + $1.bytes.count }, line)
        let marks = file.lines.compactMap(SelectionMark.read)
        whileSpace = PathSet(marks.filter { $0.mark == .whileSpace }.map(\.path))
        marked = []
        for mark in marks { note(mark.path) }
    }

    /// The file with `path` selected for as long as there is space.
    ///
    /// - Complexity: that of the path, plus a copy of the file; a fraction of a new reading of it once in many lines.
    /// - Returns: nil where more is to be done than to add two lines, or where they cannot be: the editor knows what, and why.
    public func adding(_ path: String) -> GrowingSelection? {
        // The editor finds the same again, and says it.
        guard !marked.contains(path), let components = try? PathText.components(of: path),
            let mark = try? SelectionMark.whileSpace.text(of: components),
            let text = try? PathText.line(naming: components, isIncluding: true, escape: escape, file: file),
            let pattern = try? IgnorePattern(parsing: text, escape: escape, file: file, line: end.line + 2)
        else { return nil }
        let new = Array(mark.utf8) + ending + Array(text.utf8) + ending
        guard bytes.count + new.count <= IgnoreLimits.totalByteCount, lineCount + 2 <= IgnoreLimits.totalLineCount,
            let selection = selection.adding(pattern, at: components, lineCount: 2)
        else { return nil }
        var grown = self
        grown.selection = selection
        grown.bytes.insert(contentsOf: new, at: end.byte)
        // bounded: within the limits, as was just seen
        grown.end = (end.byte + new.count, end.line + 2)
        grown.lineCount += 2
        grown.whileSpace.insert(path)
        grown.note(path)
        return grown
    }

    private mutating func note(_ path: String) {
        var path = path[...]
        while marked.insert(String(path)).inserted, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            path = path[..<slash]
        }
    }
}
