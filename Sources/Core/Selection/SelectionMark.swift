/// What a comment of an ignore file says about a path, for synctrain alone: `// synctrain: WORD /path`, anywhere in the file.
///
/// To Syncthing, and to the rules of what is kept, it is a comment. Taken out by hand it says nothing more, and it names its
/// path, so that lines may be sorted by hand.
public enum SelectionMark: String, Sendable, CaseIterable {
    /// What is selected here may go by itself when space is short.
    case whileSpace = "while-space"
    /// What lies here and is not selected is not to be asked about.
    case leaveAlone = "leave-alone"
    /// What was selected here has another name now; the line goes once the other devices have heard of it.
    case moved

    private static let introduction = "// synctrain: "

    /// The comment. Throws `inexpressiblePath` for a path that a trimmed line cannot hold.
    func text(of components: [[UInt8]]) throws(IgnoreError) -> String {
        let path = PathText.joined(components)
        let text = "\(Self.introduction)\(rawValue) /\(path)"
        guard !path.utf8.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }),
            IgnoreFile.trimmed(text).utf8.elementsEqual(text.utf8)
        else {
            throw IgnoreError(.inexpressiblePath, "no line can select “\(path)”; rename it first")
        }
        return text
    }

    /// What a line says, if it is such a comment.
    static func read(_ line: IgnoreFile.Line) -> (mark: SelectionMark, path: String)? {
        guard case .comment = line.content else { return nil }
        let text = IgnoreFile.trimmed(String(decoding: line.bytes, as: UTF8.self))
        guard text.utf8.starts(with: introduction.utf8) else { return nil }
        let rest = text.dropFirst(introduction.count)
        guard let space = rest.firstIndex(of: " "), let mark = SelectionMark(rawValue: String(rest[..<space])) else {
            return nil
        }
        let path = rest[rest.index(after: space)...]
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count > 1 else { return nil }
        return (mark, String(Substring(path.utf8.dropFirst())))
    }
}

extension IgnoreFile {
    /// The paths that comments mark, in the order of their lines.
    public func paths(marked mark: SelectionMark) -> [String] {
        lines.compactMap(SelectionMark.read).filter { $0.mark == mark }.map(\.path)
    }
}

/// Paths, each of which stands for itself and all below it.
public struct PathSet: Sendable, Equatable {
    private var paths: Set<[UInt8]>

    public init(_ paths: some Sequence<String>) { self.paths = Set(paths.map { Array($0.utf8) }) }

    /// Those of `paths` that lie below none of the others, by the bytes of their names.
    public static func topmost(_ paths: some Sequence<String>) -> [String] {
        let all = PathSet(paths)
        return all.paths.filter { !all.holds(above: $0) }.sorted { $0.lexicographicallyPrecedes($1) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    public var isEmpty: Bool { paths.isEmpty }

    mutating func insert(_ path: String) { paths.insert(Array(path.utf8)) }

    public func contains(_ path: String) -> Bool {
        guard !paths.isEmpty else { return false }
        let bytes = Array(path.utf8)
        return paths.contains(bytes) || holds(above: bytes)
    }

    private func holds(above path: [UInt8]) -> Bool {
        var end = path.endIndex
        while let slash = path[..<end].lastIndex(of: PathBytes.slash) {
            if paths.contains(Array(path[..<slash])) { return true }
            end = slash
        }
        return false
    }
}
