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
    /// This device, in version vectors.
    package var device: ShortID
    /// Whether permissions are neither compared nor applied.
    package var ignoresPermissions: Bool
    /// How many conflict copies of one name are kept (Syncthing's `maxConflicts`): -1 all of them; 0 none, so that
    /// what loses a conflict is replaced like an older version.
    package var conflictLimit: Int
    /// For a file that was changed here and elsewhere, where both ways are open.
    package var conflictPolicy: ConflictPolicy
    /// For a file that was deleted here and changed elsewhere.
    package var deletionPolicy: ConflictPolicy

    package init(
        kind: FolderKind = .sendReceive, device: ShortID, ignoresPermissions: Bool = false,
        conflictLimit: Int = FolderRules.defaultConflictLimit, conflictPolicy: ConflictPolicy = .newest,
        deletionPolicy: ConflictPolicy = .newest
    ) {
        self.kind = kind
        self.device = device
        self.ignoresPermissions = ignoresPermissions
        self.conflictLimit = conflictLimit
        self.conflictPolicy = conflictPolicy
        self.deletionPolicy = deletionPolicy
    }
}
