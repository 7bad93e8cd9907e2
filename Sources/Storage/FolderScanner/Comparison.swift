import BlockExchange
import FileAccess

/// What the status of something on the disk says about what is known of it.
enum Comparison: Hashable {
    /// Nothing of it differs.
    case same
    /// The contents are the same; inode or time of change are to be noted.
    case status
    /// The contents are the same; permissions or attributes are to be announced.
    case metadata
    /// The contents may differ: read them, and compare if `canCompare`.
    case unknown(canCompare: Bool)

    /// Compares a file. docs/decisions/scanning.md gives the reasons.
    ///
    /// - parameter attributes: what the file has; nil if nobody looked.
    init(
        file status: FileStatus, with known: KnownEntry?, ignoringPermissions: Bool,
        attributes: FileAttributes? = nil
    ) {
        guard let known, known.status.type == .regular, !known.isIgnored, !known.mustRescan else {
            self = .unknown(canCompare: false)
            return
        }
        let then = known.status
        let hasOtherPermissions = Self.permissionsDiffer(status, known, ignoringPermissions)
        let isSameFile = then.inode == status.inode
        let news = Self.news(of: attributes, known)
        guard then.size == status.size, then.modified.isKept(as: status.modified, beside: status.changed),
            let thenChanged = then.changed,
            thenChanged == status.changed || (isSameFile && (hasOtherPermissions || news == .changed))
        else {
            self = .unknown(canCompare: known.blocksHash != nil)
            return
        }
        if hasOtherPermissions || news != .none {
            self = .metadata
        } else {
            self = isSameFile && thenChanged == status.changed ? .same : .status
        }
    }

    /// Compares a directory, which has no contents of its own: its times say only what happened in it.
    init(
        directory status: FileStatus, with known: KnownEntry?, ignoringPermissions: Bool,
        attributes: FileAttributes? = nil
    ) {
        guard let known, known.isDirectory, !known.isIgnored, !known.mustRescan else {
            self = .unknown(canCompare: false)
            return
        }
        if Self.permissionsDiffer(status, known, ignoringPermissions) || Self.news(of: attributes, known) != .none {
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
    init?(
        contents: FileContents, status: FileStatus, with known: KnownEntry, ignoringPermissions: Bool,
        attributes: FileAttributes? = nil
    ) {
        guard contents.size == known.status.size, contents.blocksHash == known.blocksHash else { return nil }
        let isToAnnounce =
            !known.status.modified.isKept(as: status.modified, beside: nil)
            || Self.permissionsDiffer(status, known, ignoringPermissions)
            || Self.news(of: attributes, known) != .none
        self = isToAnnounce ? .metadata : .status
    }

    /// What is new about attributes.
    private enum News {
        case none
        /// They were not seen before, or it is to be said again that some are missing.
        case toNote
        case changed
    }

    private static func news(of attributes: FileAttributes?, _ known: KnownEntry) -> News {
        guard let attributes else { return .none }
        let (owner, extended) = (known.attributes?.owner, known.attributes?.extended)
        if let owner, let now = attributes.owner, !owner.hasSameIDs(as: now) { return .changed }
        if let extended, let now = attributes.extended, extended != now { return .changed }
        let isUnseen = owner == nil && attributes.owner != nil || extended == nil && attributes.extended != nil
        return isUnseen || known.lacksAttributes ? .toNote : .none
    }

    private static func permissionsDiffer(_ status: FileStatus, _ known: KnownEntry, _ ignoring: Bool) -> Bool {
        !ignoring && known.hasPermissions && (status.permissions ^ known.status.permissions) & 0o777 != 0
    }
}
