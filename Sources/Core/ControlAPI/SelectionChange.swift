/// What to keep on this device from now on, or to keep no more.
public struct SelectionChange: Codable, Equatable, Sendable {
    /// At most `ControlLimits.paths`; they may lie in several folders, but none of them is a folder's root.
    public var paths: [PathReference]
    /// Selects them, else deselects them.
    public var isSelecting: Bool
    /// Only says what it would do.
    public var isDryRun: Bool
    /// When deselecting, what becomes of what is on this disk; nil for `free`.
    public var local: LocalFiles?
    /// When selecting: for as long as there is space, see `keep-free`.
    public var whileSpace: Bool?

    public init(
        paths: [PathReference], isSelecting: Bool, isDryRun: Bool = false, local: LocalFiles? = nil,
        whileSpace: Bool? = nil
    ) {
        self.paths = paths
        self.isSelecting = isSelecting
        self.isDryRun = isDryRun
        self.local = local
        self.whileSpace = whileSpace
    }

    enum CodingKeys: String, CodingKey { case paths, isSelecting = "select", isDryRun = "dryRun", local, whileSpace }
}

/// A new mode for a folder.
public struct FolderModeChange: Codable, Equatable, Sendable {
    public var folder: String
    /// `selective` or `full`.
    public var mode: String
    /// Only says what it would do.
    public var isDryRun: Bool

    public init(folder: String, mode: String, isDryRun: Bool = false) {
        self.folder = folder
        self.mode = mode
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case folder, mode, isDryRun = "dryRun" }
}

/// What of a folder may go over Bluetooth from now on; nil leaves a setting as it is.
public struct FolderBluetoothChange: Codable, Equatable, Sendable {
    public var folder: String
    /// `all`, `selected-and-on-demand`, `index-only` or `off`.
    public var use: String?
    /// Bytes; larger files wait for a network unless somebody asks for them. 0 for no limit.
    public var limit: Int64?

    public init(folder: String, use: String? = nil, limit: Int64? = nil) {
        self.folder = folder
        self.use = use
        self.limit = limit
    }
}

/// What may go over Bluetooth with a device from now on, if the folders allow that much.
public struct DeviceBluetoothChange: Codable, Equatable, Sendable {
    /// The device's id or its name.
    public var device: String
    /// As for folders.
    public var use: String

    public init(device: String, use: String) {
        self.device = device
        self.use = use
    }
}

/// What a change of the selection came to, a part for each folder in the order of their first paths.
public struct SelectionAnswer: Codable, Equatable, Sendable {
    public var schema = 1
    public var folders: [SelectionOutcome]

    public init(folders: [SelectionOutcome]) { self.folders = folders }
}

/// What a change of one folder's selection came to, or would come to.
public struct SelectionOutcome: Codable, Equatable, Sendable {
    /// One of the paths that were asked for.
    public struct Path: Codable, Equatable, Sendable {
        /// Relative to the folder's root.
        public var path: String
        /// Whether the global index has it now. If not, selecting it takes effect when it appears.
        public var exists: Bool
        /// Nil if it does not exist.
        public var kind: Entry.Kind?
        /// After the change.
        public var selected: Entry.Selected
        /// It was deselected out of a selected directory, or selected out of one that is left out: a line before the
        /// directory's says so.
        public var isException: Bool

        public init(
            path: String, exists: Bool, kind: Entry.Kind? = nil, selected: Entry.Selected, isException: Bool = false
        ) {
            self.path = path
            self.exists = exists
            self.kind = kind
            self.selected = selected
            self.isException = isException
        }

        enum CodingKeys: String, CodingKey {
            case path, exists, kind, selected, isException = "exception"
        }
    }

    /// What the change means for this disk and the network, over all of the folder.
    public struct Cost: Codable, Equatable, Sendable {
        /// Files that are to be fetched because of the change, and their bytes.
        public var fetchFiles: Int64
        public var fetchBytes: Int64
        /// Files that are to be fetched no more because of it.
        public var sparedFiles: Int64
        public var sparedBytes: Int64
        /// Files on this disk that become extraneous: they stay where they are.
        public var extraneousFiles: Int64
        public var extraneousBytes: Int64
        /// Files on this disk that were extraneous and are kept from now on.
        public var adoptedFiles: Int64
        public var adoptedBytes: Int64

        public init(
            fetchFiles: Int64 = 0, fetchBytes: Int64 = 0, sparedFiles: Int64 = 0, sparedBytes: Int64 = 0,
            extraneousFiles: Int64 = 0, extraneousBytes: Int64 = 0, adoptedFiles: Int64 = 0, adoptedBytes: Int64 = 0
        ) {
            self.fetchFiles = fetchFiles
            self.fetchBytes = fetchBytes
            self.sparedFiles = sparedFiles
            self.sparedBytes = sparedBytes
            self.extraneousFiles = extraneousFiles
            self.extraneousBytes = extraneousBytes
            self.adoptedFiles = adoptedFiles
            self.adoptedBytes = adoptedBytes
        }
    }

    public var folder: String
    /// After the change.
    public var mode: String
    public var isDryRun: Bool
    /// Lines of `.stignore` that are new, in file order.
    public var added: [String]
    /// Lines of `.stignore` that are gone, in file order.
    public var removed: [String]
    /// In the order that they were asked for; empty for a change of mode.
    public var paths: [Path]
    public var cost: Cost
    /// What deselecting freed; nil if nothing was to be freed.
    public var freeing: FreeingOutcome?

    public init(
        folder: String, mode: String, isDryRun: Bool, added: [String], removed: [String], paths: [Path] = [],
        cost: Cost = Cost(), freeing: FreeingOutcome? = nil
    ) {
        self.folder = folder
        self.mode = mode
        self.isDryRun = isDryRun
        self.added = added
        self.removed = removed
        self.paths = paths
        self.cost = cost
        self.freeing = freeing
    }

    enum CodingKeys: String, CodingKey {
        case folder, mode, isDryRun = "dryRun", added, removed, paths, cost, freeing
    }
}

/// A line of `select --list`: a path that `.stignore` selects by name.
public struct SelectedPath: ControlLine, Equatable, Sendable {
    public var type = "selected"
    public var folder: String
    /// Relative to the folder's root.
    public var path: String
    /// Whether the global index has it now.
    public var exists: Bool
    /// Nil if it does not exist.
    public var kind: Entry.Kind?

    public init(folder: String, path: String, exists: Bool, kind: Entry.Kind? = nil) {
        self.folder = folder
        self.path = path
        self.exists = exists
        self.kind = kind
    }
}
