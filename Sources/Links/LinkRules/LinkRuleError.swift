import Phrases

/// What is wrong with a setting that the rules are made of.
package struct LinkRuleError: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// An entry of `allowed-networks` is no network.
        case invalidNetwork
        /// There are more entries than are taken.
        case tooManyNetworks
        /// The entries of `allowed-networks` all exclude.
        case onlyExclusions
        /// A text is no address that can be dialled.
        case invalidAddress
        /// The address has a scheme that is not dialled, such as `quic://`.
        case unsupportedAddress
    }

    package var kind: Kind
    /// A sentence for people, with what to do.
    package var text: Phrase

    package init(_ kind: Kind, _ text: Phrase) {
        self.kind = kind
        self.text = text
    }

    package var description: String { message }

    /// Text of somebody else for a message: short, and no control characters reach a terminal or a log.
    static func quoted(_ text: String) -> String {
        let shown = text.unicodeScalars.prefix(60).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }
        return "“" + String(String.UnicodeScalarView(shown)) + "”"
    }
}
