/// One line of an ignore file that decides about paths.
public struct IgnorePattern: Hashable, Sendable {
    /// The line as it stands in the file, without the white space around it.
    public let text: String
    /// The file, as its reader or the `#include` line named it.
    public let file: String
    /// The line's number in that file, from 1.
    public internal(set) var line: Int
    /// Whether what the line matches is ignored; false for a line with `!`.
    public let isIgnoring: Bool
    /// Whether what the line ignores may be deleted to let go of a directory: `(?d)`.
    public let isDeletable: Bool
    /// Whether the line matches without regard to case: `(?i)`.
    public let foldsCase: Bool
    /// Whether the line matches from the folder's root only.
    public let isRooted: Bool
    /// Whether the line matches only what is inside of the directories that it names: it ends in `/` or `/**`.
    public let matchesContentOnly: Bool

    /// The line without its prefixes, in backslash escapes, in lower case if it folds case.
    let body: [UInt32]
    let shape: PatternShape

    /// The path that the line names when it is rooted and has no wildcards, relative to the folder's root.
    public var literalPath: String? {
        guard isRooted, case .literal(let components) = shape else { return nil }
        let path = components.joined(separator: CollectionOfOne(PathBytes.slash))
        return String(decoding: Array(path), as: UTF8.self)
    }

    /// Whether the line matches every path.
    public var matchesEverything: Bool {
        if case .everything = shape { true } else { false }
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8) && left.body == right.body && left.line == right.line
            && left.file.utf8.elementsEqual(right.file.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(body)
        hasher.combine(line)
    }

    /// Reads a line that is known to be neither blank nor a comment nor a directive.
    init(parsing text: String, escape: Unicode.Scalar, file: String, line: Int) throws(IgnoreError) {
        var rest = IgnorePattern.unifyingEscapes(in: text.unicodeScalars.map(\.value), escape: escape)[...]
        let length = rest.count
        var isIgnoring = true
        var foldsCase = false
        var deletes = false
        // Each prefix once and in any order; a second one is part of the name.
        prefixes: while true {
            if isIgnoring, rest.first == "!".value {
                isIgnoring = false
                rest = rest.dropFirst()
            } else if !foldsCase, rest.starts(with: "(?i)".scalarValues) {
                foldsCase = true
                rest = rest.dropFirst(4)
            } else if !deletes, rest.starts(with: "(?d)".scalarValues) {
                deletes = true
                rest = rest.dropFirst(4)
            } else {
                break prefixes
            }
        }
        let prefixCount = length - rest.count
        guard !rest.isEmpty else {
            throw IgnoreError(
                .invalidPattern, "the line has no pattern after its prefix; add one or remove the line", file: file,
                line: line, column: prefixCount)
        }
        body = foldsCase ? rest.map(CaseFolding.lowercased) : Array(rest)
        self.text = text
        self.file = file
        self.line = line
        self.isIgnoring = isIgnoring
        self.foldsCase = foldsCase
        isDeletable = deletes && isIgnoring
        isRooted = body.first == "/".value
        matchesContentOnly = body.last == "/".value || body.suffix(3) == "/**".scalarValues[...]
        do throws(GlobError) {
            var globs: [Glob] = []
            for text in Self.globTexts(of: body) { globs.append(try GlobParser.parse(text)) }
            shape = PatternShape(body: body, globs: globs)
        } catch {
            let column = prefixCount + (isRooted ? 1 : 0) + error.offset + 1
            throw IgnoreError(error.code, error.text, file: file, line: line, column: min(column, length))
        }
    }

    /// Turns the file's own escape character into a backslash, and a doubled one into itself.
    ///
    /// Backslashes that the line already has stay escapes: Syncthing replaces characters, it does not translate.
    private static func unifyingEscapes(in scalars: [UInt32], escape: Unicode.Scalar) -> [UInt32] {
        guard escape != "\\" else { return scalars }
        var unified = scalars.map { $0 == escape ? Unicode.Scalar("\\").value : $0 }
        var index = 0
        while index + 1 < unified.count {
            if unified[index] == "\\", unified[index + 1] == "\\" {
                unified[index + 1] = escape.value
                index += 1
            }
            index += 1
        }
        return unified
    }

    /// The globs to match against whole paths, in the order in which Syncthing tries them.
    static func globTexts(of body: [UInt32]) -> [[UInt32]] {
        let isRooted = body.first == "/".value
        let deep = "**".scalarValues
        var lines: [[UInt32]] = []
        if body.suffix(3) == "/**".scalarValues[...] {
            lines = [body]
        } else if body.last == "/".value {
            lines = [body + deep]
        } else {
            lines = [body, body + "/**".scalarValues]
        }
        return lines.flatMap { line -> [[UInt32]] in
            if isRooted { return [Array(line.dropFirst())] }
            if line.starts(with: "**/".scalarValues) { return [line, Array(line.dropFirst(3))] }
            return [line, "**/".scalarValues + line]
        }
    }

    /// Those globs, parsed.
    var globs: [Glob] { Self.globTexts(of: body).compactMap { try? GlobParser.parse($0) } }
}

extension StringProtocol {
    /// The numbers of the text's Unicode scalars.
    var scalarValues: [UInt32] { unicodeScalars.map(\.value) }
}

extension String {
    /// The text of scalars that came out of a string; numbers that are no scalars are left out.
    init(scalars: some Sequence<UInt32>) {
        self.init()
        for value in scalars {
            if let scalar = Unicode.Scalar(value) { unicodeScalars.append(scalar) }
        }
    }
}

/// Lower case scalar by scalar, so that a pattern and a path are always changed alike and keep their length.
enum CaseFolding {
    static func lowercased(_ value: UInt32) -> UInt32 {
        if value < 0x80 { return value >= 0x41 && value <= 0x5A ? value + 0x20 : value }
        // The one scalar whose full mapping is longer; Go, and so Syncthing, takes the plain letter.
        if value == 0x130 { return 0x69 }
        guard let scalar = Unicode.Scalar(value) else { return value }
        let mapped = scalar.properties.lowercaseMapping.unicodeScalars
        return mapped.count == 1 ? mapped.first?.value ?? value : value
    }

    static func lowercased(_ path: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var folded: [UInt8] = []
        folded.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            if path[index] < 0x80 {
                folded.append(UInt8(truncatingIfNeeded: lowercased(UInt32(path[index]))))
                index += 1
            } else {
                let start = index
                let scalar = path.decodeScalar(at: &index)
                if let mapped = Unicode.Scalar(lowercased(scalar)), mapped.value != scalar {
                    folded.append(contentsOf: UTF8.encode(mapped).map(Array.init) ?? [])
                } else {
                    folded.append(contentsOf: path[start..<index])
                }
            }
        }
        return folded
    }
}
