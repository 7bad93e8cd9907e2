import ControlAPI
import Phrases

/// Parts of sentences.
enum Words {
    // `1 file`, `2 files`.

    static func files(_ number: some BinaryInteger) -> Phrase {
        Phrase(number, one: "\(number) file", many: "\(number) files")
    }

    static func names(_ number: some BinaryInteger) -> Phrase {
        Phrase(number, one: "\(number) name", many: "\(number) names")
    }

    static func changes(_ number: some BinaryInteger) -> Phrase {
        Phrase(number, one: "\(number) change", many: "\(number) changes")
    }

    static func conflicts(_ number: some BinaryInteger) -> Phrase {
        Phrase(number, one: "\(number) conflict", many: "\(number) conflicts")
    }

    static func folders(_ number: some BinaryInteger) -> Phrase {
        Phrase(number, one: "\(number) folder", many: "\(number) folders")
    }

    static func devices(_ number: some BinaryInteger) -> Phrase {
        Phrase(number, one: "\(number) device", many: "\(number) devices")
    }

    /// The word for the state, which the catalogue has for the table of `status`.
    static func state(_ folder: FolderStatus) -> Phrase { Phrase(stringLiteral: folder.state) }

    /// `45 s`, `5 min`, `3 h`, `2 d`.
    static func duration(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// The permission bits as chmod takes them: `0644`.
    static func octal(_ mode: UInt32) -> String { "0" + String(mode & 0o777, radix: 8) }

    /// Bytes as an option takes them, rounded up: `512MiB`.
    static func mebibytes(_ bytes: Int64) -> String {
        let (whole, rest) = max(0, bytes).quotientAndRemainder(dividingBy: 1 << 20)
        return "\(whole + (rest > 0 ? 1 : 0))MiB"
    }

    /// A command of this program as it is typed for another home: `synctrain --home /h resume docs`.
    static func command(_ command: String, program: String) -> String {
        guard command.hasPrefix("synctrain ") else { return command }
        return program + command.dropFirst("synctrain".count)
    }
}
