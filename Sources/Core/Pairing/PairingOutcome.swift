import Phrases

/// How an attempt ended.
public enum PairingOutcome: Equatable, Sendable {
    /// This device has stored the other. `isMutual`: the other has said that it did, too. If it has not, it may have been
    /// cut off before: then it pairs again, with new digits.
    case paired(PairingIntroduction, isMutual: Bool)
    /// Each had the other in its configuration before: there was nothing to compare.
    case alreadyPaired
    /// Nothing was stored here.
    case failed(PairingFailure)
}

/// Why an attempt failed.
public struct PairingFailure: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable, CaseIterable {
        /// This device's user said no.
        case refusedHere
        /// This device's user, or a script, confirmed other digits than those shown.
        case otherCode
        /// The other device's user has refused, or a script there found other digits.
        case refusedThere
        /// This device's user went away without an answer, or the agent stops.
        case interruptedHere
        /// So did the other device's.
        case interruptedThere
        /// The other device is pairing with a third one.
        case busy
        case timeout
        /// The other device's time was over.
        case timeoutThere
        /// The other device revealed another nonce than the one it had committed to: what an attacker must do.
        case brokenCommitment
        /// A message that has no place at this point, or is repeated.
        case wrongOrder
        case malformedMessage
        /// The other device says that it was sent something wrong.
        case mistakeHere
        /// The link ended too early.
        case linkEnded
        case notStoredHere
        case notStoredThere
    }

    public var code: Code
    /// A clause for people, without capital and full stop.
    package var text: Phrase
    /// `text` in English.
    public var message: String { text.english }

    package init(_ code: Code, _ text: Phrase) {
        self.code = code
        self.text = text
    }

    public var description: String { message }

    init(_ refusal: PairingRefusal) {
        switch refusal {
        case .user: self.init(.refusedThere, Phrase("refused on the other device"))
        case .time: self.init(.timeoutThere, Phrase("the other device timed out"))
        case .busy: self.init(.busy, Phrase("the other device is pairing with a third device; try again later"))
        case .mistake:
            self.init(
                .mistakeHere, Phrase("the other device did not understand this one; update both to the same version"))
        case .storage: self.init(.notStoredThere, Phrase("the other device could not store this one; see its log"))
        case .interruption:
            self.init(
                .interruptedThere, Phrase("pairing was interrupted on the other device; start again on both devices"))
        }
    }
}

extension PairingFailure: PhrasedError {}
