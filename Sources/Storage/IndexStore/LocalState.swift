import BlockExchange

/// How a name stands on this device by the index: the one definition, for files and directories, that listings, `status`
/// and the page start from. What the disk, transfers and links add to it is `EntryStanding`.
package enum LocalState: Sendable, Equatable, CaseIterable {
    /// Nothing of it is selected.
    case absent
    /// Selected, and nothing of it is present.
    case queued
    /// Some of what is selected is present. Directories alone do not count where files are selected.
    case partial
    /// All that is selected is present: on this disk in the winner's version, and verified.
    case present

    /// - Parameters:
    ///   - selected: what is selected: of a directory below it, itself not counted; of anything else itself.
    ///   - present: what of that is present.
    ///   - isSelected: whether the name itself is; decides for a directory with nothing selected below it.
    ///   - isPresent: whether the name itself is there.
    package init(selected: Aggregate, present: Aggregate, isSelected: Bool, isPresent: Bool) {
        guard selected.count != 0 else {
            self = isSelected ? (isPresent ? .present : .queued) : .absent
            return
        }
        if present.count == selected.count {
            self = .present
        } else {
            // Directories are made before what is in them comes.
            self = present.fileCount == 0 ? .queued : .partial
        }
    }
}

extension GlobalEntry {
    /// What of the name is selected: of a directory all below it, itself not counted; of anything else itself.
    package var selectedShare: Aggregate { isDirectory ? selected : isSelected ? itself : .zero }

    /// What of that is on this disk in the winner's version, verified.
    package var presentShare: Aggregate { isDirectory ? present : isVerified ? itself : .zero }

    private var itself: Aggregate { file.map { Aggregate(of: $0) } ?? .zero }
}
