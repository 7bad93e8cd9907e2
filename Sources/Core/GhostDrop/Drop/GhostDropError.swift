/// Why a transfer with a GhostDrop app ended, or a packet or frame was refused.
public struct GhostDropError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable, CaseIterable {
        /// Bytes that are no frame, no JSON of the announced kind, or values out of range.
        case malformed
        /// A length beyond the limits of `DropFrame`.
        case tooLarge = "too-large"
        /// A frame that may not come now.
        case unexpectedFrame = "unexpected-frame"
        /// The two sides do not see the same keys: somebody is between them, or the peer is faulty.
        case codesDiffer = "codes-differ"
        /// A user said no, here or there.
        case declined
        /// The peer gave up, for a reason that has no code here; the message has it.
        case cancelled
        /// A frame that the peer cannot have sealed.
        case notAuthentic = "not-authentic"
        /// The peer said nothing for too long. Trying again may help.
        case timedOut = "timed-out"
        /// The file that arrived is not the one that was announced. Trying again may help.
        case digestDiffers = "digest-differs"
        /// The file could not be read as it was announced.
        case fileChanged = "file-changed"
        /// The link went before the transfer was over. Trying again goes on where it ended.
        case linkLost = "link-lost"
        /// The receiver's disk has no room for the file.
        case noSpace = "no-space"
        /// The receiver's disk did not take the file.
        case diskFailed = "disk-failed"
    }

    public let code: Code
    /// A sentence for people, with what to do where something can be done.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }

    static let linkLost = Self(
        .linkLost, "the link was lost before the file was complete; bring the devices closer together and try again")

    /// What a peer gave as its reason to end the transfer: the code of an error of these, or an app's own words.
    static func toldByPeer(_ reason: String) -> Self {
        switch Code(rawValue: reason) {
        case .digestDiffers:
            return Self(
                .digestDiffers,
                "the file that arrived differs from the announced one: it may have changed while it was being sent; send it again"
            )
        case .declined: return Self(.declined, "the other user declined or stopped the transfer")
        case .noSpace:
            return Self(.noSpace, "the other device has not enough space for the file; free some space there")
        case .diskFailed: return Self(.diskFailed, "the other device could not store the file; see the message there")
        case .fileChanged:
            return Self(.fileChanged, "the other device can no longer read the file; send it again there")
        default:
            let words = String(
                reason.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(100).map(Character.init))
            return Self(.cancelled, "the other side ended the transfer: \(words)")
        }
    }

    static func malformed(_ what: String) -> Self {
        Self(.malformed, "the other side sent \(what); check that it runs a current GhostDrop app and try again")
    }
}
