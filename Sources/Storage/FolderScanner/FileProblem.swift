import BlockExchange
import FileAccess
import Phrases

/// Why something on the disk is not synced.
package struct FileProblem: PhrasedError, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        case unreadable
        case unreadableDirectory = "unreadable-directory"
        /// It was written, replaced or removed while it was read.
        case changedWhileRead = "changed-while-read"
        case nameNotUTF8 = "name-not-utf-8"
        case nameNotComposed = "name-not-nfc"
        case nameTooLong = "name-too-long"
        /// A pipe, socket or device.
        case unsupportedType = "unsupported-type"
        case targetNotUTF8 = "link-target-not-utf-8"
        case tooLarge = "too-large"
    }

    package let code: Code
    /// The path beneath the folder, for people: bytes that are not UTF-8 are shown as U+FFFD.
    package let name: String
    /// What the disk said, if it did.
    package let cause: FileAccessError?

    package init(_ code: Code, name: String, cause: FileAccessError? = nil) {
        self.code = code
        self.name = name
        self.cause = cause
    }

    /// Whether another scan may succeed without anyone doing anything.
    package var isTransient: Bool { code == .changedWhileRead || cause?.isTransient ?? false }

    /// A sentence for people that ends with what to do.
    package var text: Phrase {
        switch code {
        case .unreadable, .unreadableDirectory:
            cause?.text ?? Phrase("“\(shown)” cannot be read; check its permissions and the disk")
        case .changedWhileRead:
            Phrase("“\(shown)” changed while it was read; it is rescanned once it no longer changes")
        case .nameNotUTF8:
            Phrase(
                "“\(shown)” has a name that is not UTF-8, which other devices cannot store; "
                    + "rename it (convmv -f ENCODING -t utf8 --notest)")
        case .nameNotComposed:
            Phrase(
                "“\(shown)” has a name in a Unicode form other than NFC, which other devices treat as a different name; "
                    + "rename it (convmv -f utf8 -t utf8 --nfc --notest)")
        case .nameTooLong:
            Phrase(
                "“\(shown)” has a path longer than \(RelativePath.byteCountLimit) bytes or "
                    + "\(RelativePath.componentCountLimit) names; use shorter names or fewer directories")
        case .unsupportedType:
            Phrase("“\(shown)” is a pipe, socket or device, which are not synced; move it elsewhere or ignore it")
        case .targetNotUTF8:
            Phrase(
                "“\(shown)” is a symbolic link to a name that is not UTF-8, which cannot be announced; link to another name "
                    + "or ignore it")
        case .tooLarge:
            Phrase(
                "“\(shown)” has more than \(FileReading.blockCountLimit) blocks of \(BlockSize.maximum >> 20) MiB; "
                    + "split or ignore it")
        }
    }

    package var description: String { message }

    /// The name without anything that would move a terminal's cursor, and not endless.
    private var shown: String {
        var text = ""
        for (index, scalar) in name.unicodeScalars.enumerated() {
            guard index < 200 else { return text + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
