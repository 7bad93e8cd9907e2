/// A path as a person typed it; the agent, which knows the folders' roots, finds what it means.
public struct PathReference: Codable, Hashable, Sendable {
    /// `FOLDER:relative/path`, an absolute path below a folder's root, or a path relative to `workingDirectory`.
    public var text: String
    /// Absolute; where the command was run.
    public var workingDirectory: String

    public init(text: String, workingDirectory: String) {
        self.text = text
        self.workingDirectory = workingDirectory
    }
}

extension PathReference {
    /// Throws `tooLarge` if a request with these paths is more than the agent takes.
    static func check(_ paths: [PathReference]) throws(ControlError) {
        guard paths.count <= ControlLimits.paths else {
            throw ControlError(
                .tooLarge,
                "A request has at most \(ControlLimits.paths) paths, not \(paths.count). Split it "
                    + "into several requests."
            )
        }
        for path in paths {
            for text in [path.text, path.workingDirectory] where text.utf8.count > ControlLimits.path {
                throw ControlError(
                    .tooLarge, "A path has at most \(ControlLimits.path) bytes, not \(text.utf8.count).",
                    path: String(text.prefix(80)))
            }
        }
    }

    /// The same for `command`, which needs some.
    static func checkSome(_ paths: [PathReference], of command: String) throws(ControlError) {
        guard !paths.isEmpty else {
            throw ControlError(.invalidRequest, "Give at least one path; see `synctrain \(command) --help`.")
        }
        try check(paths)
    }
}

/// One name of a folder as `ls`, `tree`, `stat` and `search` show it.
public struct Entry: Codable, Equatable, Sendable {
    public enum Kind: String, Codable, Sendable, CaseIterable { case file, directory, symlink }

    /// How the name stands on this device.
    public enum State: String, Codable, Sendable, CaseIterable {
        /// In the global index, not on this disk, not selected; of a directory, nothing below it is selected either.
        case absent
        /// As `queued`; only from an older agent.
        case selected
        /// Selected and not on this disk; of a directory, nothing of what is selected below it is.
        case queued
        /// Some of its bytes are here; of a directory, some of what is selected below it, whole and verified.
        case partial
        /// On this disk as the global version says; of a directory, all that is selected below it.
        case present
        /// On this disk, selected, and changed here.
        case modified
        /// A conflict copy, or a file with one.
        case conflict
        /// On this disk and not selected; of a directory, nothing below it is selected either.
        case extraneous
    }

    public enum Selected: String, Codable, Sendable, CaseIterable { case explicit, implicit, no }

    public var kind: Kind
    public var folder: String
    /// Relative to the folder's root; empty for the root itself.
    public var path: String
    /// Bytes; of a directory the sum of all files below it.
    public var size: Int64
    /// RFC 3339 in UTC with a fraction where there is one.
    public var modified: String?
    public var state: State
    public var selected: Selected
    /// Ids of the devices that can serve the whole global version; of a directory, empty.
    public var holders: [String]
    /// Of a directory: how many files and directories lie below it in the global index.
    public var files: Int64?
    public var directories: Int64?
    /// Of a directory: how many files and bytes below it are selected, in the global index, and how many of these are here
    /// as the global version says. Symbolic links count as files.
    public var selectedFiles: Int64?
    public var selectedBytes: Int64?
    public var presentFiles: Int64?
    public var presentBytes: Int64?
    /// Of a directory that is not selected: something below it is.
    public var isSelectedBelow: Bool?
    /// Of a selected directory: something below it is not.
    public var isLeftOutBelow: Bool?
    /// Why it is not fetched although devices that hold it are connected, with what to do.
    public var waiting: String?
    /// Only from `extraneous`: the version of the other devices that is not the one here.
    public var other: OtherVersion?
    /// Only from `extraneous`: the words for what can be done about it.
    public var choices: [String]?
    /// Only from `stat`.
    public var details: Details?

    public struct OtherVersion: Codable, Equatable, Sendable {
        public var size: Int64
        /// RFC 3339.
        public var modified: String
        /// The short id of the device that made it, and its name or id if that is known here.
        public var modifiedBy: String
        public var device: String?
        /// Ids of the devices that hold it whole.
        public var holders: [String]

        public init(size: Int64, modified: String, modifiedBy: String, device: String? = nil, holders: [String]) {
            self.size = size
            self.modified = modified
            self.modifiedBy = modifiedBy
            self.device = device
            self.holders = holders
        }
    }

    public struct Details: Codable, Equatable, Sendable {
        public var permissions: String
        public var version: String
        public var modifiedBy: String
        public var blockSize: Int?
        public var blocks: Int?
        public var symlinkTarget: String?
        /// Absolute, if the name is on this disk.
        public var localPath: String?

        public init(
            permissions: String, version: String, modifiedBy: String, blockSize: Int? = nil, blocks: Int? = nil,
            symlinkTarget: String? = nil, localPath: String? = nil
        ) {
            self.permissions = permissions
            self.version = version
            self.modifiedBy = modifiedBy
            self.blockSize = blockSize
            self.blocks = blocks
            self.symlinkTarget = symlinkTarget
            self.localPath = localPath
        }
    }

    public init(
        kind: Kind, folder: String, path: String, size: Int64, modified: String?, state: State, selected: Selected,
        holders: [String] = [], files: Int64? = nil, directories: Int64? = nil, waiting: String? = nil,
        details: Details? = nil
    ) {
        self.kind = kind
        self.folder = folder
        self.path = path
        self.size = size
        self.modified = modified
        self.state = state
        self.selected = selected
        self.holders = holders
        self.files = files
        self.directories = directories
        self.waiting = waiting
        self.details = details
    }

    enum CodingKeys: String, CodingKey {
        case kind = "type", folder, path, size, modified, state, selected, holders, files, directories, waiting, details
        case selectedFiles, selectedBytes, presentFiles, presentBytes
        case other, choices, isSelectedBelow = "selectedBelow", isLeftOutBelow = "leftOutBelow"
    }
}

/// Which devices have a file's global version.
public struct Whereabouts: Codable, Equatable, Sendable {
    public struct Holder: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
        public var isConnected: Bool
        /// RFC 3339; nil if never seen.
        public var lastSeen: String?

        public init(id: String, name: String, isConnected: Bool, lastSeen: String?) {
            self.id = id
            self.name = name
            self.isConnected = isConnected
            self.lastSeen = lastSeen
        }

        enum CodingKeys: String, CodingKey { case id, name, isConnected = "connected", lastSeen }
    }

    /// What a device has of a file, or of the files in a directory.
    public struct Device: Codable, Equatable, Sendable {
        /// A word of what it has said of the name. An open set: a client takes one that it does not know for `nothing`.
        public enum Holding: String, Codable, CaseIterable, Sendable {
            /// The newest version, whole; of a directory, all files in it.
            case complete
            /// Some of the files of a directory; on this device also some blocks of a file.
            case partly
            /// A version that the newest one has seen.
            case older
            /// A version that the newest one has not seen.
            case other
            case deleted
            /// It knows the newest version and does not keep it.
            case notKept = "not-kept"
            /// It has not said anything of the name.
            case nothing
            /// It has not told yet what it has of the folder.
            case unknown

            public init(from decoder: any Decoder) throws {
                self = Holding(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .nothing
            }
        }

        public var id: String
        public var name: String
        public var isThis: Bool
        public var isConnected: Bool
        /// RFC 3339; nil if never seen, and of this device.
        public var lastSeen: String?
        public var has: Holding
        /// Of what it has, where that is another version: bytes and RFC 3339.
        public var size: Int64?
        public var modified: String?
        /// Of a directory: how many files it has in their newest versions, and how many bytes.
        public var files: Int64?
        public var bytes: Int64?

        public init(
            id: String, name: String, isThis: Bool, isConnected: Bool, lastSeen: String?, has: Holding,
            size: Int64? = nil, modified: String? = nil, files: Int64? = nil, bytes: Int64? = nil
        ) {
            self.id = id
            self.name = name
            self.isThis = isThis
            self.isConnected = isConnected
            self.lastSeen = lastSeen
            self.has = has
            self.size = size
            self.modified = modified
            self.files = files
            self.bytes = bytes
        }

        enum CodingKeys: String, CodingKey {
            case id, name, isThis = "this", isConnected = "connected", lastSeen, has, size, modified, files, bytes
        }
    }

    public var schema = 1
    public var folder: String
    public var path: String
    /// The other devices that hold it whole in its newest version.
    public var holders: [Holder]
    /// This device, then all others that share the folder; nil from an agent that does not say.
    public var devices: [Device]?

    public init(folder: String, path: String, holders: [Holder], devices: [Device]? = nil) {
        self.folder = folder
        self.path = path
        self.holders = holders
        self.devices = devices
    }
}
