/// What agent and mount accept from each other.
package enum MountLimits {
    /// Counts up with every change of the protocol; both ends are of one installation, so others are refused.
    package static let version: UInt32 = 8
    package static let requestByteCount = 16 << 10
    package static let answerByteCount = 4 << 20
    /// Mounts that an agent serves at once.
    package static let mountCount = 16
    /// Names in one page of a directory.
    package static let pageCount = 1000
    /// A page ends once it has so many bytes; with one more entry it still is an answer.
    package static let pageByteCount = 1 << 20
    package static let readByteCount = 1 << 20
    package static let pathByteCount = 4095
    package static let nameByteCount = 255
    package static let targetByteCount = 4095
    package static let attributeByteCount = 4096
    /// Paths in one notice of changes; more are said as "everything".
    package static let changeCount = 1000
}

/// Bytes that are no message of this protocol. The connection they came over is of no more use.
package struct MountProtocolError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        case tooLong, tooShort, unknownKind, invalidText, limit
    }

    package let reason: Reason

    init(_ reason: Reason) { self.reason = reason }
}
