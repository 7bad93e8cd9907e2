/// Settles what a folder does not settle by itself.
package struct FolderAction: Codable, Equatable, Sendable {
    package enum Kind: String, Codable, Sendable, CaseIterable {
        /// Of a folder that only sends: what this device has replaces what the others made of it.
        case override
        /// Of a folder that only receives: what was changed here gives way to what the others have.
        case revert
        /// Of a halted folder: what is gone was deleted on purpose, and the others delete it too. Of one that holds back
        /// deletions by other devices: they are made here too.
        case confirm
        /// Of a halted folder: what is gone is made or fetched again. Nothing is deleted anywhere.
        case repair
    }

    package var folder: String
    package var action: Kind
    /// Only says what it would do.
    package var isDryRun: Bool

    package init(folder: String, action: Kind, isDryRun: Bool = false) {
        self.folder = folder
        self.action = action
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case folder, action, isDryRun = "dryRun" }
}

/// What a `FolderAction` changes. Where: on the other devices by `override` and `confirm` (but see `isHere`), here by
/// `revert` and `repair`.
package struct FolderActionOutcome: Codable, Equatable, Sendable {
    /// How many `paths` are named.
    package static let pathLimit = 20

    package var schema = 1
    package var folder: String
    package var action: FolderAction.Kind
    package var isDryRun: Bool
    /// Files that get other content or come back, and their bytes.
    package var files: Int64
    package var bytes: Int64
    /// Directories that are made or get other permissions.
    package var directories: Int64
    /// Names that are deleted.
    package var deletions: Int64
    /// The first names that are changed or deleted, relative to the folder's root.
    package var paths: [String]
    /// True of a `confirm` of deletions by other devices, which are made on this one; else nil.
    package var isHere: Bool?
    /// Of a `repair`: missing files that no other device has, so that they are not restored; else nil.
    package var lostFiles: Int64?

    package init(
        folder: String, action: FolderAction.Kind, isDryRun: Bool, files: Int64 = 0, bytes: Int64 = 0,
        directories: Int64 = 0, deletions: Int64 = 0, paths: [String] = []
    ) {
        self.folder = folder
        self.action = action
        self.isDryRun = isDryRun
        self.files = files
        self.bytes = bytes
        self.directories = directories
        self.deletions = deletions
        self.paths = paths
    }

    package var isChange: Bool { files > 0 || directories > 0 || deletions > 0 }

    enum CodingKeys: String, CodingKey {
        case schema, folder, action, isDryRun = "dryRun", files, bytes, directories, deletions, paths, isHere = "here"
        case lostFiles
    }
}
