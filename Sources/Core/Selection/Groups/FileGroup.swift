import Phrases

/// Files of one directory that belong together: their new versions come into their places at one instant, so far as a
/// disk has such a thing.
public struct FileGroup: Hashable, Sendable {
    /// The names that its files can have, at least two, by bytes; whether they are there is not known here.
    public let names: [String]
}

/// Why a pattern names no groups; `message` says what to write instead.
public struct GroupPatternError: Error, Hashable, Sendable, CustomStringConvertible {
    package let text: Phrase

    /// `text` in English.
    public var message: String { text.english }

    public var description: String { message }
}

extension GroupPatternError: PhrasedError {}

/// How many patterns there may be, and how much they may stand for.
public enum GroupLimits {
    public static let patternCount = 100
    /// Bytes of one pattern.
    public static let patternByteCount = 1024
    /// Files that one group can have; also the directories that the braces of one pattern stand for.
    public static let alternativeCount = 32
}
