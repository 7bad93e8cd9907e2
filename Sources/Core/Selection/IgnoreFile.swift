import Phrases
import Trimming

/// An ignore file, parsed: every line of it, so that it can be edited and written back byte for byte.
///
/// Included files are not opened here; `Selection` does that.
public struct IgnoreFile: Sendable, Equatable {
    /// The name of the ignore file at a folder's root.
    public static let defaultName = ".stignore"

    public struct Line: Sendable, Equatable {
        public enum Content: Sendable, Equatable {
            case blank
            case comment
            /// `#include`: the path as written, relative to the directory of this file.
            case include(String)
            /// `#escape=`: the character that escapes others in this file.
            case escape(Unicode.Scalar)
            case pattern(IgnorePattern)
        }

        /// From 1.
        public let number: Int
        /// The line as it is in the file, with what ends it.
        public let bytes: [UInt8]
        public let content: Content

        /// The pattern, if the line is one.
        public var pattern: IgnorePattern? {
            if case .pattern(let pattern) = content { pattern } else { nil }
        }
    }

    /// The file's name or its path relative to the folder's root, for messages and for `#include`.
    public let name: String
    public let lines: [Line]
    /// The character that escapes others in this file.
    public let escape: Unicode.Scalar

    /// Parses the bytes of a file.
    ///
    /// Throws `IgnoreError` with the line and column of the first fault.
    public init(parsing bytes: some Sequence<UInt8>, name: String = IgnoreFile.defaultName) throws(IgnoreError) {
        self.name = name
        var lines: [Line] = []
        var escape: Unicode.Scalar?
        var hasPattern = false
        var pending: [UInt8] = []
        var byteCount = 0
        func close() throws(IgnoreError) {
            let content = try IgnoreFile.content(
                of: pending, number: lines.count + 1, file: name, escape: escape, hasPattern: hasPattern)
            switch content {
            case .escape(let scalar): escape = scalar
            case .pattern: hasPattern = true
            default: break
            }
            lines.append(Line(number: lines.count + 1, bytes: pending, content: content))
            pending.removeAll(keepingCapacity: true)
        }
        for byte in bytes {
            byteCount += 1
            guard byteCount <= IgnoreLimits.totalByteCount, lines.count < IgnoreLimits.totalLineCount else {
                throw IgnoreFile.tooLarge(file: name)
            }
            pending.append(byte)
            guard pending.count <= IgnoreLimits.lineByteCount else {
                throw IgnoreError(
                    .tooLarge, "the line is longer than \(IgnoreLimits.lineByteCount) bytes; shorten or split it",
                    file: name, line: lines.count + 1)
            }
            if byte == UInt8(ascii: "\n") { try close() }
        }
        if !pending.isEmpty { try close() }
        self.lines = lines
        self.escape = escape ?? "\\"
    }

    /// Parses the text of a file.
    ///
    /// - Throws: `invalidText`, `tooLarge`, `invalidPattern`, `invalidEscape` or `invalidInclude`, with file and line.
    public init(parsing text: String, name: String = IgnoreFile.defaultName) throws(IgnoreError) {
        try self.init(parsing: text.utf8, name: name)
    }

    /// The file as it was read.
    public var bytes: [UInt8] { lines.flatMap(\.bytes) }

    /// The file as text; bytes in comments that are not UTF-8 are replaced.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    static func tooLarge(file: String) -> IgnoreError {
        IgnoreError(
            .tooLarge,
            "more than \(IgnoreLimits.totalByteCount) bytes or \(IgnoreLimits.totalLineCount) lines with all that is "
                + "included; remove lines, or list directories instead of their files", file: file)
    }

    /// What a line is, by the order in which Syncthing looks.
    private static func content(
        of bytes: [UInt8], number: Int, file: String, escape: Unicode.Scalar?, hasPattern: Bool
    ) throws(IgnoreError) -> Line.Content {
        let text = trimmed(String(decoding: bytes, as: UTF8.self))
        if text.isEmpty { return .blank }
        if text.utf8.starts(with: "//".utf8) { return .comment }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw IgnoreError(
                .invalidText, "the line is not UTF-8; save the file in that encoding", file: file, line: number)
        }
        if text.utf8.starts(with: "#escape".utf8) {
            return .escape(
                try escapeCharacter(
                    in: text, number: number, file: file, isFirst: escape == nil, hasPattern: hasPattern))
        }
        if text.utf8.starts(with: "#include".utf8) {
            let path = text.unicodeScalars.firstIndex(of: " ").map { trimmed(String(text.unicodeScalars[$0...])) } ?? ""
            guard !path.isEmpty else {
                throw IgnoreError(
                    .invalidInclude, "#include needs a file; write #include, a space and the file's path", file: file,
                    line: number, column: text.unicodeScalars.count)
            }
            return .include(path)
        }
        return .pattern(try IgnorePattern(parsing: text, escape: escape ?? "\\", file: file, line: number))
    }

    private static func escapeCharacter(
        in text: String, number: Int, file: String, isFirst: Bool, hasPattern: Bool
    ) throws(IgnoreError) -> Unicode.Scalar {
        guard isFirst else {
            throw IgnoreError(
                .invalidEscape, "a second #escape line; keep only the first", file: file, line: number, column: 1)
        }
        guard !hasPattern else {
            throw IgnoreError(
                .invalidEscape, "#escape must come before all patterns; move the line up", file: file, line: number,
                column: 1)
        }
        let rest = trimmed(String(text.unicodeScalars.dropFirst(7)))
        let value = trimmed(String(rest.unicodeScalars.dropFirst()))
        guard rest.unicodeScalars.first == "=", value.unicodeScalars.count == 1, let scalar = value.unicodeScalars.first
        else {
            throw IgnoreError(
                .invalidEscape, "write #escape= and one character", file: file, line: number, column: 8)
        }
        return scalar
    }

    /// The text without the white space, of any script, around it.
    static func trimmed(_ text: String) -> String {
        String(text.unicodeScalars.trimming { $0.properties.isWhitespace })
    }
}
