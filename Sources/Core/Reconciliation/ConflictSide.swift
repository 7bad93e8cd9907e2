import BlockExchange

/// Which of the two files of a conflict.
package enum ConflictSide: Hashable, Sendable {
    /// The one that bears the file's name: the version that won.
    case original
    /// The conflict copy.
    case copy

    /// The side that is this device's own: what it won with, or what it had when it lost. On a device that had neither, what
    /// is in the file's place.
    ///
    /// - parameters:
    ///   - winner: the device that the copy's name says (`ConflictName.winner`).
    ///   - author: who announced the copy; nil if nobody has.
    package static func mine(winner: String, author: ShortID?, device: ShortID) -> ConflictSide {
        if winner == device.description { return .original }
        return author == device ? .copy : .original
    }
}
