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
        let device = deletion.modifiedBy
        let (gone, come) = (deletion.version.value(of: device), added.version.value(of: device))
        guard gone > 0, come > 0 else { return false }
        return max(gone, come) - min(gone, come) <= window
    }
}
