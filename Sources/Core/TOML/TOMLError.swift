import Phrases

/// Why a text is not TOML, and where.
package struct TOMLError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        case notUTF8
        case controlCharacter
        /// Something is missing, or something else is in its place.
        case unexpected
        /// A string without its closing quote.
        case unterminated
        case invalidEscape
        case invalidNumber
        case invalidDateTime
        /// A value that is none of TOML's kinds.
        case invalidValue
        /// A key or a table is defined twice, or added to where TOML closes it.
        case duplicate
        case tooDeep
        case tooLarge
    }

    package var code: Code
    package var position: TOMLPosition
    /// What is wrong, in the lower case, without a full stop.
    package var cause: Phrase
    /// What to write instead, in the lower case, without a full stop.
    package var remedy: Phrase

    init(_ code: Code, _ position: TOMLPosition, _ cause: Phrase, _ remedy: Phrase) {
        self.code = code
        self.position = position
        self.cause = cause
        self.remedy = remedy
    }

    package var description: String { "line \(position.line), column \(position.column): \(cause); \(remedy)" }
}
