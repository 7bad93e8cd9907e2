/// What a device may do in a folder.
public struct FolderRoleChange: Codable, Equatable, Sendable {
    public var folder: String
    /// The device's id or its name; the folder is shared with it.
    public var device: String
    /// `read`, `write` or `admin`.
    public var role: String

    public init(folder: String, device: String, role: String) {
        self.folder = folder
        self.device = device
        self.role = role
    }
}

/// A change made by a device that may only read, which nobody here follows.
public struct RefusedChange: ControlLine, Equatable, Sendable {
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// The folder has nothing of that name.
        case new
        case changed, deleted
    }

    /// What the folder has under the name.
    public struct Current: Codable, Equatable, Sendable {
        public var size: Int64
        public var modified: String?
        /// Whether this device has it on its disk, so that it can give it back.
        public var isHere: Bool

        public init(size: Int64, modified: String?, isHere: Bool) {
            self.size = size
            self.modified = modified
            self.isHere = isHere
        }

        enum CodingKeys: String, CodingKey { case size, modified, isHere = "here" }
    }

    public var type = "refused"
    public var folder: String
    /// Relative to the folder's root.
    public var path: String
    /// The id of the device that made the change.
    public var device: String
    /// What it is called here; empty if it has no name.
    public var name: String
    public var change: Kind
    /// `file`, `directory` or `symlink`.
    public var kind: String
    /// Of the refused version, in bytes; 0 for a deletion.
    public var size: Int64
    public var modified: String?
    public var current: Current?

    public init(
        folder: String, path: String, device: String, name: String, change: Kind, kind: String, size: Int64,
        modified: String?, current: Current?
    ) {
        self.folder = folder
        self.path = path
        self.device = device
        self.name = name
        self.change = change
        self.kind = kind
        self.size = size
        self.modified = modified
        self.current = current
    }
}

/// Settles refused changes: they count from now on, or are undone on the devices that made them.
public struct RefusalRequest: Codable, Equatable, Sendable {
    public enum Action: String, Codable, Sendable, CaseIterable { case accept, revert }

    /// At most `ControlLimits.paths`. A directory stands for all refused changes in it, a folder's root for all of it.
    public var paths: [PathReference]
    public var action: Action
    /// Only the changes of this device, by id or name; nil for those of all.
    public var device: String?
    /// Only says what it would do.
    public var isDryRun: Bool

    public init(paths: [PathReference], action: Action, device: String? = nil, isDryRun: Bool = false) {
        self.paths = paths
        self.action = action
        self.device = device
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case paths, action, device, isDryRun = "dryRun" }
}

public struct RefusalAnswer: Codable, Equatable, Sendable {
    public var schema = 1
    public var folders: [RefusalOutcome]

    public init(folders: [RefusalOutcome]) { self.folders = folders }
}

/// What settling refused changes in one folder came to, or would come to.
public struct RefusalOutcome: Codable, Equatable, Sendable {
    public static let nameLimit = 1000

    public var folder: String
    public var action: RefusalRequest.Action
    public var isDryRun: Bool
    /// Names that are settled.
    public var count: Int64 = 0
    /// How many of them the refused changes delete, and how many they replace.
    public var deletions: Int64 = 0
    public var replacements: Int64 = 0
    /// At most `nameLimit`, relative to the folder's root.
    public var names: [String] = []
    /// What could not be settled, and why.
    public var staying: [StayingName] = []

    public init(folder: String, action: RefusalRequest.Action, isDryRun: Bool) {
        self.folder = folder
        self.action = action
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey {
        case folder, action, isDryRun = "dryRun", count, deletions, replacements, names, staying
    }
}
