/// Settles what a folder does not settle by itself.
public struct FolderAction: Codable, Equatable, Sendable {
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// Of a folder that only sends: what this device has replaces what the others made of it.
        case override
        /// Of a folder that only receives: what was changed here gives way to what the others have.
        case revert
        /// Of a halted folder: what is gone was deleted on purpose, and the others delete it too.
        case confirm
        /// Of a halted folder: what is gone is made or fetched again. Nothing is deleted anywhere.
        case repair
    }

    public var folder: String
    public var action: Kind
    /// Only says what it would do.
    public var isDryRun: Bool

    public init(folder: String, action: Kind, isDryRun: Bool = false) {
        self.folder = folder
        self.action = action
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case folder, action, isDryRun = "dryRun" }
}

/// What a `FolderAction` changes. Where: on the other devices by `override` and `confirm`, here by `revert` and
/// `repair`.
public struct FolderActionOutcome: Codable, Equatable, Sendable {
    /// How many `paths` are named.
    public static let pathLimit = 20

    public var schema = 1
    public var folder: String
    public var action: FolderAction.Kind
    public var isDryRun: Bool
    /// Files that get other content or come back, and their bytes.
    public var files: Int64
    public var bytes: Int64
    /// Directories that are made or get other permissions.
    public var directories: Int64
    /// Names that are deleted.
    public var deletions: Int64
    /// The first names that are changed or deleted, relative to the folder's root.
    public var paths: [String]

    public init(
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

    public var isChange: Bool { files > 0 || directories > 0 || deletions > 0 }

    enum CodingKeys: String, CodingKey {
        case schema, folder, action, isDryRun = "dryRun", files, bytes, directories, deletions, paths
    }
}
