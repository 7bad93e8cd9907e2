import BlockExchange

/// Which way changes go through a folder.
package enum FolderKind: Hashable, Sendable {
    /// Both ways.
    case sendReceive
    /// What is here is announced; the disk is never changed.
    case sendOnly
    /// Changes of others are taken; those made here stay here until they are reverted.
    case receiveOnly
}

/// How one folder is kept in sync on this device.
package struct FolderRules: Hashable, Sendable {
    /// Syncthing's default for `conflictLimit`.
    package static let defaultConflictLimit = 10

    package var kind: FolderKind
    /// This device, as who made a change.
    package var device: ShortID
    /// Whose counter a change made here raises. Another than `device` once the index came out of a backup: others may have
    /// versions in which the device's own counter is higher than it knows, made from what it has lost, and what it makes now is in
    /// conflict with them.
    package var author: ShortID
    /// Whether permissions are neither compared nor applied, on any disk.
    package var ignoresPermissions: Bool
    /// What the disk that the folder is on does not keep.
    package var disk = DiskRules()
    /// The same of others below it, by the directory in which each begins.
    package var otherDisks: [String: DiskRules] = [:]
    /// What of ownership and extended attributes is announced, compared and applied.
    package var attributes = AttributeRules()
    /// How many conflict copies of one name are kept (Syncthing's `maxConflicts`): -1 all of them; 0 none, so that
    /// what loses a conflict is replaced like an older version.
    package var conflictLimit: Int
    /// For a file that was changed here and elsewhere, where both ways are open.
    package var conflictPolicy: ConflictPolicy
    /// For a file that was deleted here and changed elsewhere.
    package var deletionPolicy: ConflictPolicy
    /// Whether one of two files whose names are one to the disk gets another name.
    package var renamesCaseClashes = false

    package init(
        kind: FolderKind = .sendReceive, device: ShortID, ignoresPermissions: Bool = false,
        conflictLimit: Int = FolderRules.defaultConflictLimit, conflictPolicy: ConflictPolicy = .newest,
        deletionPolicy: ConflictPolicy = .newest
    ) {
        self.kind = kind
        self.device = device
        author = device
        self.ignoresPermissions = ignoresPermissions
        self.conflictLimit = conflictLimit
        self.conflictPolicy = conflictPolicy
        self.deletionPolicy = deletionPolicy
    }
}

/// What a disk does not keep of a file.
package struct DiskRules: Hashable, Sendable {
    package var keepsPermissions: Bool
    /// Whether it keeps times in steps, of two seconds at most: times that differ by less are the same.
    package var hasCoarseTimes: Bool

    package init(keepsPermissions: Bool = true, hasCoarseTimes: Bool = false) {
        self.keepsPermissions = keepsPermissions
        self.hasCoarseTimes = hasCoarseTimes
    }
}

extension FolderRules {
    /// Whether permissions of what is at `path` are neither compared nor applied.
    package func ignoresPermissions(at path: String) -> Bool { ignoresPermissions || !disk(of: path).keepsPermissions }

    func hasCoarseTimes(at path: String) -> Bool { disk(of: path).hasCoarseTimes }

    /// That of the nearest directory above, or of the path itself.
    private func disk(of path: String) -> DiskRules {
        guard !otherDisks.isEmpty else { return disk }
        var above = path[...]
        while true {
            if let found = otherDisks[String(above)] { return found }
            guard let slash = above.utf8.lastIndex(of: UInt8(ascii: "/")) else { return disk }
            above = above[..<slash]
        }
    }
}
