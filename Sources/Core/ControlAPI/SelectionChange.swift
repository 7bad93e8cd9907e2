/// What to keep on this device from now on, or to keep no more.
package struct SelectionChange: Codable, Equatable, Sendable, CheckedRequest {
    /// At most `ControlLimits.paths`; they may lie in several folders, but none of them is a folder's root.
    package var paths: [PathReference]
    /// Selects them, else deselects them.
    package var isSelecting: Bool
    /// Only says what it would do.
    package var isDryRun: Bool
    /// When deselecting, what becomes of what is on this disk; nil for `free`.
    package var local: LocalFiles?
    /// When selecting: for as long as there is space, see `keep-free`.
    package var whileSpace: Bool?

    package init(
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

    func check() throws(ControlError) {
        try PathReference.checkSome(paths, of: "select")
    }
}

/// A new mode for a folder.
package struct FolderModeChange: Codable, Equatable, Sendable {
    package var folder: String
    /// `selective` or `full`.
    package var mode: String
    /// Only says what it would do.
    package var isDryRun: Bool

    package init(folder: String, mode: String, isDryRun: Bool = false) {
        self.folder = folder
        self.mode = mode
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case folder, mode, isDryRun = "dryRun" }
}

/// What of a folder may go over Bluetooth from now on; nil leaves a setting as it is.
package struct FolderBluetoothChange: Codable, Equatable, Sendable {
    package var folder: String
    /// `all`, `selected-and-on-demand`, `index-only` or `off`.
    package var use: String?
    /// Bytes; larger files wait for a network unless somebody asks for them. 0 for no limit.
    package var limit: Int64?

    package init(folder: String, use: String? = nil, limit: Int64? = nil) {
        self.folder = folder
        self.use = use
        self.limit = limit
    }
}

/// What may go over Bluetooth with a device from now on, if the folders allow that much.
package struct DeviceBluetoothChange: Codable, Equatable, Sendable {
    /// The device's id or its name.
    package var device: String
    /// As for folders.
    package var use: String

    package init(device: String, use: String) {
        self.device = device
        self.use = use
    }
}

/// What a change of the selection came to, a part for each folder in the order of their first paths.
package struct SelectionAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var folders: [SelectionOutcome]

    package init(folders: [SelectionOutcome]) { self.folders = folders }
}

/// What a change of one folder's selection came to, or would come to.
package struct SelectionOutcome: Codable, Equatable, Sendable {
    /// One of the paths that were asked for.
    package struct Path: Codable, Equatable, Sendable {
        /// Relative to the folder's root.
        package var path: String
        /// Whether the global index has it now. If not, selecting it takes effect when it appears.
        package var exists: Bool
        /// Nil if it does not exist.
        package var kind: Entry.Kind?
        /// After the change.
        package var selected: Entry.Selected
        /// It was deselected out of a selected directory, or selected out of one that is left out: a line before the
        /// directory's says so.
        package var isException: Bool

        package init(
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
    package struct Cost: Codable, Equatable, Sendable {
        /// Files that are to be fetched because of the change, and their bytes.
        package var fetchFiles: Int64
        package var fetchBytes: Int64
        /// Files that are to be fetched no more because of it.
        package var sparedFiles: Int64
        package var sparedBytes: Int64
        /// Files on this disk that become extraneous: they stay where they are.
        package var extraneousFiles: Int64
        package var extraneousBytes: Int64
        /// Files on this disk that were extraneous and are kept from now on.
        package var adoptedFiles: Int64
        package var adoptedBytes: Int64

        package init(
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

    package var folder: String
    /// After the change.
    package var mode: String
    package var isDryRun: Bool
    /// Lines of `.stignore` that are new, in file order.
    package var added: [String]
    /// Lines of `.stignore` that are gone, in file order.
    package var removed: [String]
    /// In the order that they were asked for; empty for a change of mode.
    package var paths: [Path]
    package var cost: Cost
    /// Files that stay selected, because lines of `.stignore` say so which its user wrote: those below deselected paths, or those
    /// that might be freed where too little was. Nil for none.
    package var stillSelected: Int64?
    /// How many bytes of space are missing on the disk for all that is selected after the change, above the folder's
    /// `minimum-free`; nil if it fits, or nobody can say.
    package var short: Int64?
    /// What deselecting freed; nil if nothing was to be freed.
    package var freeing: FreeingOutcome?

    package init(
        folder: String, mode: String, isDryRun: Bool, added: [String], removed: [String], paths: [Path] = [],
        cost: Cost = Cost(), stillSelected: Int64? = nil, short: Int64? = nil, freeing: FreeingOutcome? = nil
    ) {
        self.folder = folder
        self.mode = mode
        self.isDryRun = isDryRun
        self.added = added
        self.removed = removed
        self.paths = paths
        self.cost = cost
        self.stillSelected = stillSelected
        self.short = short
        self.freeing = freeing
    }

    enum CodingKeys: String, CodingKey {
        case folder, mode, isDryRun = "dryRun", added, removed, paths, cost, stillSelected, short, freeing
    }
}

/// A line of `select --list`: a path that `.stignore` selects by name.
package struct SelectedPath: ControlLine, Equatable, Sendable {
    package var type = "selected"
    package var folder: String
    /// Relative to the folder's root.
    package var path: String
    /// Whether the global index has it now.
    package var exists: Bool
    /// Nil if it does not exist.
    package var kind: Entry.Kind?

    package init(folder: String, path: String, exists: Bool, kind: Entry.Kind? = nil) {
        self.folder = folder
        self.path = path
        self.exists = exists
        self.kind = kind
    }
}
