import FileAccess

/// What the status of something on the disk says about what is known of it.
enum Comparison: Hashable {
    /// Nothing of it differs.
    case same
    /// The contents are the same; inode or time of change are to be noted.
    case status
    /// The contents are the same; permissions are to be announced.
    case metadata
    /// The contents may differ: read them, and compare if `canCompare`.
    case unknown(canCompare: Bool)

    /// Compares a file. docs/decisions/scanning.md gives the reasons.
    init(file status: FileStatus, with known: KnownEntry?, ignoringPermissions: Bool) {
        guard let known, known.status.type == .regular, !known.isIgnored, !known.mustRescan else {
            self = .unknown(canCompare: false)
            return
        }
        let then = known.status
        let hasOtherPermissions = Self.permissionsDiffer(status, known, ignoringPermissions)
        let isSameFile = then.inode == status.inode
        guard then.size == status.size, then.modified == status.modified, let thenChanged = then.changed,
            thenChanged == status.changed || (isSameFile && hasOtherPermissions)
        else {
            self = .unknown(canCompare: known.blocksHash != nil)
            return
        }
        if hasOtherPermissions {
            self = .metadata
        } else {
            self = isSameFile && thenChanged == status.changed ? .same : .status
        }
    }

    /// Compares a directory, which has no contents of its own: its times say only what happened in it.
    init(directory status: FileStatus, with known: KnownEntry?, ignoringPermissions: Bool) {
        guard let known, known.isDirectory, !known.isIgnored, !known.mustRescan else {
            self = .unknown(canCompare: false)
            return
        }
        if Self.permissionsDiffer(status, known, ignoringPermissions) {
            self = .metadata
        } else {
            self = known.status.inode == status.inode ? .same : .status
        }
    }

    /// Compares a symbolic link by what it holds; links have no permissions, and their times are not synced.
    init(symlink status: FileStatus, target: [UInt8], with known: KnownEntry?) {
        guard let known, known.status.type == .symlink, !known.isIgnored, !known.mustRescan,
            known.symlinkTarget == target
        else {
            self = .unknown(canCompare: false)
            return
        }
        self = known.status.inode == status.inode && known.status.changed == status.changed ? .same : .status
    }

    /// What follows when a file was read that might have changed: nil if its contents are other than known.
    init?(contents: FileContents, status: FileStatus, with known: KnownEntry, ignoringPermissions: Bool) {
        guard contents.size == known.status.size, contents.blocksHash == known.blocksHash else { return nil }
        let isToAnnounce =
            known.status.modified != status.modified
            || Self.permissionsDiffer(status, known, ignoringPermissions)
        self = isToAnnounce ? .metadata : .status
    }

    private static func permissionsDiffer(_ status: FileStatus, _ known: KnownEntry, _ ignoring: Bool) -> Bool {
        !ignoring && known.hasPermissions && (status.permissions ^ known.status.permissions) & 0o777 != 0
    }
}
