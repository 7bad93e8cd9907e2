import BlockExchange

/// A file that another device has given another name: a deletion and a new file with the same contents.
package enum RenameElsewhere {
    /// Seconds between what one device says of the two names of a file that it has renamed: it finds both in one look.
    static let window: UInt64 = 600

    /// Whether `added` is what was at the name of `deletion` and had `hash` as contents.
    ///
    /// Versions say who, and by Syncthing's and our way of counting also when: a copy that was there before is none.
    package static func isRename(_ deletion: FileInfo, of content: FileInfo, to added: FileInfo) -> Bool {
        guard deletion.isDeleted, !added.isDeleted, !added.isInvalid, added.kind == .file, content.kind == .file,
            let hash = content.blocksHash, added.blocksHash == hash, added.size == content.size
        else { return false }
        return isSimultaneous(deletion, added)
    }

    /// Whether `added` is what was at the name of `edited`, a file beside that of `deletion`, before somebody else changed it: the
    /// device that has renamed the directory of both has lost its deletion to that change.
    package static func isRename(beside deletion: FileInfo, of edited: FileInfo, to added: FileInfo) -> Bool {
        guard deletion.isDeleted, !edited.isDeleted, edited.kind == .file, edited.modifiedBy != deletion.modifiedBy,
            !added.isDeleted, !added.isInvalid, added.kind == .file
        else { return false }
        return isSimultaneous(deletion, added)
    }

    private static func isSimultaneous(_ deletion: FileInfo, _ added: FileInfo) -> Bool {
        let device = deletion.modifiedBy
        let (gone, come) = (deletion.version.value(of: device), added.version.value(of: device))
        guard gone > 0, come > 0 else { return false }
        return max(gone, come) - min(gone, come) <= window
    }
}
