import Phrases

/// All patterns of an ignore file and of what it includes, in the order in which they are tried.
struct IgnoreList: Sendable {
    private(set) var patterns: [IgnorePattern] = []
    private var seenLines: Set<[UInt8]> = []
    private var seenFiles: Set<[UInt8]> = []
    private var byteCount = 0
    private var lineCount = 0

    init(_ file: IgnoreFile, include: (String) throws -> String) throws(IgnoreError) {
        try add(file, depth: 0, include: include)
    }

    private mutating func add(
        _ file: IgnoreFile, depth: Int, include: (String) throws -> String
    ) throws(IgnoreError) {
        lineCount += file.lines.count
        byteCount += file.lines.reduce(0) { $0 + $1.bytes.count }
        guard byteCount <= IgnoreLimits.totalByteCount, lineCount <= IgnoreLimits.totalLineCount else {
            throw IgnoreFile.tooLarge(file: file.name)
        }
        for line in file.lines {
            switch line.content {
            case .blank, .comment, .escape: continue
            case .pattern(let pattern):
                // A line that was there before, in whichever file, says nothing new even if it stands elsewhere.
                if seenLines.insert(Array(pattern.text.utf8)).inserted { patterns.append(pattern) }
            case .include(let path):
                guard seenLines.insert(Array("#include \(path)".utf8)).inserted else { continue }
                let included = try load(path, from: file, line: line.number, depth: depth + 1, include: include)
                try add(included, depth: depth + 1, include: include)
            }
        }
    }

    private mutating func load(
        _ path: String, from file: IgnoreFile, line: Int, depth: Int, include: (String) throws -> String
    ) throws(IgnoreError) -> IgnoreFile {
        let name = IgnoreList.resolve(path, from: file.name)
        guard depth <= IgnoreLimits.includeDepth else {
            throw IgnoreError(
                .invalidInclude, "#include nests more than \(IgnoreLimits.includeDepth) deep; include fewer files",
                file: file.name, line: line)
        }
        guard seenFiles.insert(Array(name.utf8)).inserted else {
            throw IgnoreError(
                .invalidInclude, "“\(name)” is included twice; remove one of the two lines", file: file.name,
                line: line)
        }
        let text: String
        do {
            text = try include(name)
        } catch {
            throw IgnoreError(
                .invalidInclude,
                "“\(name)” cannot be included (\(Phrase(of: error))); make the file readable or remove this line",
                file: file.name, line: line)
        }
        return try IgnoreFile(parsing: text, name: name)
    }

    /// The path of an included file relative to the folder's root, in its shortest form; it may lead out of it.
    static func resolve(_ path: String, from file: String) -> String {
        var components: [Substring] = []
        for component in file.components().dropLast() + path.components() {
            if component == "..", let last = components.last, last != ".." {
                components.removeLast()
            } else if component != "." {
                components.append(component)
            }
        }
        return components.joined(separator: "/")
    }
}
