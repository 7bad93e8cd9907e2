import ControlAPI
import Phrases

/// Tells a disk that is not mounted any more from files that were deleted: pure.
package enum VanishedMounts {
    /// The names at which something was mounted and nothing is, so that what is missing below them does not count as deleted.
    ///
    /// - Parameters:
    ///   - recorded: where something was mounted when it was looked at last.
    ///   - mounted: where something is mounted now.
    ///   - before: what had vanished when it was looked at last; it stays so whatever is put there, until it is mounted again.
    ///   - isEmptied: whether nothing is at or in the directory of that name. Who puts something there uses it without the disk.
    /// - Throws: what `isEmptied` throws.
    package static func names(
        recorded: Set<String>, mounted: Set<String>, before: Set<String>, isEmptied: (String) throws -> Bool
    ) rethrows -> Set<String> {
        try recorded.filter { try !mounted.contains($0) && (before.contains($0) || isEmptied($0)) }
    }

    /// What to say of one of them, with the remedies.
    package static func text(folder: String) -> Phrase {
        Phrase(
            "the disk that was mounted here is missing; mount it and run: synctrain scan. Until then, nothing here counts as "
                + "deleted and nothing is downloaded here. If the disk is gone for good: synctrain folder confirm \(ShellWord.quoted(folder))"
        )
    }
}
