@_exported import Phrases

/// Why a link could not be made or listened for.
package struct LinkError: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The text is no link address.
        case invalidAddress
        /// The address is well formed and of a kind that this transport does not serve.
        case unsupportedAddress
        case addressInUse
        case addressUnavailable
        case permissionDenied
        case hostNotFound
        case refused
        case unreachable
        case timedOut
        case failed
    }

    package var code: Code
    /// A sentence for people that names the address and says what to do.
    package var text: Phrase
    /// The same for a place that names the address anyway; nil where that is `text`, or only `message(_:withoutAddress:)` knows.
    package var there: Phrase?
    /// Whether the same call may succeed later without anything being changed on this side.
    package var isTransient: Bool
    /// The error underneath, in the words of the system.
    package var cause: String?

    package init(_ code: Code, _ text: Phrase, there: Phrase? = nil, isTransient: Bool, cause: String? = nil) {
        self.code = code
        self.text = text
        self.there = there
        self.isTransient = isTransient
        self.cause = cause
    }

    package var description: String { message }
}

extension LinkError {
    /// `message` for a place that names the address anyway: `at ADDRESS` becomes `there`, and what else names it goes, also without its
    /// scheme. A message that has the address in no such form is not changed.
    package static func message(_ message: String, withoutAddress address: String) -> String {
        let authority = address.firstRange(of: "://").map { address[$0.upperBound...].prefix { $0 != "/" } } ?? ""
        return removing(String(authority), from: removing(address, from: message))
    }

    /// The same of a phrase; in English only, if it names the address.
    package static func text(_ text: Phrase, withoutAddress address: String) -> Phrase {
        let (message, brief) = (text.english, message(text.english, withoutAddress: address))
        return message == brief ? text : "\(brief)"
    }

    private static func removing(_ address: String, from message: String) -> String {
        guard !address.isEmpty else { return message }
        var (rest, text) = (message[...], "")
        while let found = rest.firstRange(of: address) {
            let before = rest[..<found.lowerBound]
            rest = rest[found.upperBound...]
            // A part of another address, with a longer port or host, is left.
            let goesOn = [rest.first, before.last].contains { next in
                next.map { $0.isNumber || $0.isLetter || $0 == "/" } ?? false
            }
            guard !goesOn else {
                text += before + address
                continue
            }
            switch before.hasSuffix(" ") ? before.split(separator: " ").last : nil {
            case "at": text += before.dropLast("at ".count) + "there"
            case let word? where ["in", "of", "from", "to"].contains(word):
                text += before.dropLast(word.count + " ".count)
                if text.hasSuffix(" ") { text.removeLast() }
            default:
                text += before
                if rest.first == " " { rest.removeFirst() }
            }
        }
        return text + rest
    }
}
