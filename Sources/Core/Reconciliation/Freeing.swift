import BlockExchange

/// Whether what is on this disk may go to free its space: others must have the very same, so that nothing is lost by it.
package enum Freeing {
    /// Why something stays on this disk.
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// No other device announces this version as its own.
        case noOtherCopy = "no-other-copy"
        /// Fewer other devices than the folder asks for announce this version as their own.
        case tooFewCopies = "too-few-copies"
        /// The other devices that announce this version may free it too, and have not promised to keep it.
        case uncertainCopies = "uncertain-copies"
        /// Another device announces this version, and did not give the blocks that it was asked for.
        case failedCopies = "failed-copies"
        /// Another device has freed this version, or is about to, because this one promised to keep it.
        case promised
        /// It is not what the index has of it, or was changed in a folder that only receives.
        case changedHere = "changed-here"
        /// Others have a newer version than this one, which is an older one or one of its own.
        case outdated
        /// The other devices have deleted it.
        case deletedElsewhere = "deleted-elsewhere"
        /// Nobody knows whether its contents are those of the version that others have.
        case notCompared = "not-compared"
        /// It was written so shortly before the index saw it that a later change could not be told.
        case unsettled
        /// The index has nothing of it on this disk.
        case unknown
        /// A program has it open for writing.
        case inUse = "in-use"
        /// The disk refused.
        case failed

        /// Whether its owner may give it up with open eyes.
        package var isForceable: Bool {
            switch self {
            case .noOtherCopy, .tooFewCopies, .uncertainCopies, .failedCopies, .promised, .changedHere, .outdated,
                .deletedElsewhere,
                .notCompared,
                .unsettled:
                true
            case .unknown, .inUse, .failed: false
            }
        }
    }

    /// What is on this disk, compared with what the index has of it.
    package enum Sight: Hashable, Sendable {
        /// Type, size, time of modification and inode are those that were hashed.
        case unchanged
        case changed
        /// As `unchanged`, but seen too soon after it was written.
        case unsettled
    }

    /// Why the name stays; nil if it may go.
    ///
    /// - parameters:
    ///   - local: what the index has of it, kept any more or not; with `blocksHash`.
    ///   - global: the winning announcement, with `blocksHash`.
    ///   - copies: the other devices that announce the winner's version as valid, by `CopyRule`, and those that count on it here.
    ///   - minimumCopies: how many that count it takes, at least 1.
    package static func reason(
        against local: LocalVersion?, global: FileInfo?, copies: Copies, minimumCopies: Int, sight: Sight
    ) -> Reason? {
        guard let local, local.isLive, !local.flags.contains(.unsupported) else { return .unknown }
        if sight == .changed || local.flags.contains(.receiveOnlyChanged) { return .changedHere }
        if !copies.promisedTo.isEmpty { return .promised }
        guard let global, !global.isInvalid else { return .noOtherCopy }
        if global.isDeleted { return .deletedElsewhere }
        guard local.file.version == global.version else {
            return local.file.hasSeen(global) ? .noOtherCopy : .outdated
        }
        guard local.flags.isSubset(of: .ignored), local.file.hasSameContent(as: global) else { return .notCompared }
        if local.file.kind == .file, !local.file.isModified(atTimeOf: global) { return .changedHere }
        if sight == .unsettled { return .unsettled }
        let needed = max(1, minimumCopies)
        if copies.count >= needed { return nil }
        if copies.count + copies.uncertain.count >= needed { return .uncertainCopies }
        if !copies.failed.isEmpty { return .failedCopies }
        return copies.count == 0 && copies.uncertain.isEmpty ? .noOtherCopy : .tooFewCopies
    }
}
