import Phrases

/// Writes a path as a line of an ignore file, so that the line names that path and no other.
enum PathText {
    /// The components of a path in its shortest relative form; the root is no such path.
    static func components(of path: String) throws(IgnoreError) -> [[UInt8]] {
        let components = Array(path.utf8).split(separator: PathBytes.slash, omittingEmptySubsequences: false)
        let isCanonical = components.allSatisfy {
            !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
        }
        guard isCanonical else {
            throw IgnoreError(
                .invalidPath,
                "“\(path)” is not a path inside the folder; give it relative to the folder, without "
                    + "empty parts, “.” and “..”")
        }
        return components.map(Array.init)
    }

    static func joined(_ components: [[UInt8]]) -> String {
        String(decoding: Array(components.joined(separator: CollectionOfOne(PathBytes.slash))), as: UTF8.self)
    }

    /// `!/path` or `/path`, escaped for that file.
    ///
    /// Throws `inexpressiblePath` if no line can name the path.
    static func line(naming components: [[UInt8]], isIncluding: Bool, in file: IgnoreFile) throws(IgnoreError) -> String
    {
        try line(naming: components, isIncluding: isIncluding, escape: file.escape, file: file.name)
    }

    static func line(
        naming components: [[UInt8]], isIncluding: Bool, escape: Unicode.Scalar, file: String
    ) throws(IgnoreError) -> String {
        let path = joined(components)
        let scalars = Array(path.unicodeScalars)
        // White space at a line's end is not part of it, a class of one character is.
        let end = scalars.lastIndex { !$0.properties.isWhitespace }.map { $0 + 1 } ?? 0
        var text = (isIncluding ? "!" : "") + "/"
        for (index, scalar) in scalars.enumerated() {
            if index >= end {
                text += "[\(scalar)]"
            } else if scalar == escape {
                text += "\(scalar)\(scalar)"
            } else if scalar == "\\" {
                // Next to another escape character no backslash is only itself; as both ends of a range it is.
                text += "[\\-\\]"
            } else {
                if "!*?[]{}".unicodeScalars.contains(scalar) { text.unicodeScalars.append(escape) }
                text.unicodeScalars.append(scalar)
            }
        }
        // The proof is in reading it back: it also finds characters that a line cannot hold.
        let pattern = try? IgnorePattern(parsing: text, escape: escape, file: file, line: 1)
        guard !text.utf8.contains(0x0A), IgnoreFile.trimmed(text).utf8.elementsEqual(text.utf8),
            text.utf8.count < IgnoreLimits.lineByteCount, let pattern, pattern.isIgnoring != isIncluding,
            pattern.literalPath?.utf8.elementsEqual(path.utf8) == true, !pattern.matchesContentOnly
        else {
            throw IgnoreError(
                .inexpressiblePath,
                "the name of “\(path)” has a character that an ignore file cannot contain; rename it or select the "
                    + "directory that contains it")
        }
        return text
    }
}
