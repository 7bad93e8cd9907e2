import Phrases

/// Why an ignore file, a pattern or an edit of the selection is refused; `message` says what to do about it.
///
/// None of these goes away by trying again: the file or the request has to change.
public struct IgnoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An open set: treat a code that you do not know as `invalidPattern`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Bytes that are not UTF-8, or a character that no pattern can hold.
        public static let invalidText = Code(rawValue: "invalid-text")
        /// A limit of `IgnoreLimits` is exceeded.
        public static let tooLarge = Code(rawValue: "too-large")
        /// The line is no pattern.
        public static let invalidPattern = Code(rawValue: "invalid-pattern")
        /// An `#escape=` line that is misplaced, repeated or malformed.
        public static let invalidEscape = Code(rawValue: "invalid-escape")
        /// An `#include` line without a file, or one whose file cannot be read.
        public static let invalidInclude = Code(rawValue: "invalid-include")
        /// A path that is empty, absolute or not in its shortest form.
        public static let invalidPath = Code(rawValue: "invalid-path")
        /// A path that no line can name.
        public static let inexpressiblePath = Code(rawValue: "inexpressible-path")
        /// A line that the editor does not own decides against what was asked for.
        public static let overruled = Code(rawValue: "overruled")
    }

    public let code: Code
    /// A sentence for people that ends with what to do.
    package let text: Phrase
    /// `text` in English.
    public var message: String { text.english }
    /// The ignore file in question, as it was named by its reader or by the `#include` line.
    public let file: String?
    /// Its line, from 1.
    public let line: Int?
    /// The character in that line, from 1, counted in Unicode scalars.
    public let column: Int?

    package init(_ code: Code, _ text: Phrase, file: String? = nil, line: Int? = nil, column: Int? = nil) {
        self.code = code
        self.text = text
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column: text`, without the parts that are not known.
    package var placedText: Phrase {
        guard let file else { return text }
        let place = [line, column].compactMap { $0 }.map { ":\($0)" }.joined()
        return "\(file + place): \(text)"
    }

    /// `placedText` in English.
    public var description: String { placedText.english }
}

extension IgnoreError: PhrasedError {}

extension IgnoreFile {
    /// For those who read no further files.
    ///
    /// - Throws: `IgnoreError` (`invalidInclude`) for every path.
    public static func includingNothing(_ path: String) throws -> String {
        throw IgnoreError(.invalidInclude, "#include is not supported here")
    }
}

/// How much an ignore file may hold, so that none can use up memory or time.
public enum IgnoreLimits {
    /// Bytes of one line, as Syncthing's reader has it.
    public static let lineByteCount = 65_535
    /// Bytes of a file and all that it includes.
    public static let totalByteCount = 1 << 20
    /// Lines of a file and all that it includes.
    public static let totalLineCount = 100_000
    /// How deep `#include` may nest.
    public static let includeDepth = 32
    /// How deep braces may nest in one pattern.
    public static let braceDepth = 16
    /// Alternatives in all braces of one pattern.
    public static let alternativeCount = 1_000
}
