/// Deletes files and directories on all devices that share the folder, whether they are on this one or not.
public struct RemovalRequest: Codable, Equatable, Sendable {
    /// At most `ControlLimits.paths`; they may lie in several folders, but none of them is a folder's root.
    public var paths: [PathReference]
    /// Only says what it would do.
    public var isDryRun: Bool

    public init(paths: [PathReference], isDryRun: Bool = false) {
        self.paths = paths
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case paths, isDryRun = "dryRun" }
}

public struct RemovalAnswer: Codable, Equatable, Sendable {
    public var schema = 1
    public var folders: [RemovalOutcome]

    public init(folders: [RemovalOutcome]) { self.folders = folders }
}

/// What deleting in one folder came to, or would come to.
public struct RemovalOutcome: Codable, Equatable, Sendable {
    /// Another device that holds some of the files in their newest version.
    public struct Holder: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
        public var isConnected: Bool
        public var files: Int64

        public init(id: String, name: String, isConnected: Bool, files: Int64) {
            self.id = id
            self.name = name
            self.isConnected = isConnected
            self.files = files
        }

        enum CodingKeys: String, CodingKey { case id, name, isConnected = "connected", files }
    }

    public static let nameLimit = 1000

    public var folder: String
    public var isDryRun: Bool
    /// Files and links that are deleted everywhere, and their bytes.
    public var files: Int64 = 0
    public var bytes: Int64 = 0
    public var directories: Int64 = 0
    /// How many of the files are on this disk.
    public var localFiles: Int64 = 0
    /// At most `nameLimit`, relative to the folder's root.
    public var names: [String] = []
    /// In the order of their ids.
    public var holders: [Holder] = []
    /// What is deleted nowhere, because what is here is not what the others have.
    public var staying: [StayingName] = []

    public init(folder: String, isDryRun: Bool) {
        self.folder = folder
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey {
        case folder, isDryRun = "dryRun", files, bytes, directories, localFiles, names, holders, staying
    }
}
