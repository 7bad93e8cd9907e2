import Phrases

/// Why a setting, the configuration file or one of the agent's own files was refused.
///
/// Nothing on disk has changed when one is thrown, unless the message says so.
package struct ConfigurationError: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The text is no TOML, no XML or no UTF-8.
        case syntax
        case unknownKey
        case wrongType
        case invalidValue
        case duplicate
        /// One folder lies inside another.
        case nestedFolder
        case noSuchDevice
        case noSuchFolder
        /// A file that is needed is not there.
        case missing
        /// A file that was to be made is there.
        case alreadyExists
        case noPermission
        case noSpace
        case tooLarge
        /// Another process holds the lock.
        case busy
        /// No place for the agent's files could be worked out.
        case noPlace
        /// A folder cannot be kept at this path.
        case folderRefused
        /// The file is laid out in a way that this program does not edit.
        case notEditable
        case failed
    }

    package var code: Code
    /// A sentence for people that ends with what to do.
    package var text: Phrase
    /// The file in question, absolute.
    package var file: String?
    /// The line in `file`, counted from 1.
    package var line: Int?

    package init(_ code: Code, _ text: Phrase, file: String? = nil, line: Int? = nil) {
        self.code = code
        self.text = text
        self.file = file
        self.line = line
    }

    /// The same to a program, however the message was put together.
    package static func == (left: ConfigurationError, right: ConfigurationError) -> Bool {
        left.code == right.code && left.message == right.message && left.file == right.file && left.line == right.line
    }

    /// `text` behind its place, as `description` has it.
    package var located: Phrase {
        guard let file else { return text }
        guard let line else { return Phrase("\(file): \(text)") }
        return Phrase("\(file):\(line): \(text)")
    }

    /// `file:line: message`, as compilers write it.
    package var description: String { located.english }
}

/// A rule that a value breaks, before it is known where the value stands.
struct SettingProblem: PhrasedError, Equatable {
    var code: ConfigurationError.Code
    var text: Phrase

    init(_ code: ConfigurationError.Code, _ text: Phrase) {
        self.code = code
        self.text = text
    }

    func at(_ file: String?, line: Int? = nil) -> ConfigurationError {
        ConfigurationError(code, text, file: file, line: line)
    }
}
