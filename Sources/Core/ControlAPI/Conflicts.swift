/// Two versions of a file, neither of which was made of the other: one bears the file's name, the other is the conflict
/// copy beside it.
public struct Conflict: ControlLine, Equatable, Sendable {
    public struct Version: Codable, Equatable, Sendable {
        /// Relative to the folder's root.
        public var path: String
        /// The id of the device that made it, or the first seven characters of one that is not known.
        public var device: String
        /// What the device is called; empty if it is not known.
        public var name: String
        /// Bytes; nil if nothing is there: deleted, or not on this disk.
        public var size: Int64?
        /// RFC 3339; nil if nothing is there.
        public var modified: String?

        public init(path: String, device: String, name: String, size: Int64? = nil, modified: String? = nil) {
            self.path = path
            self.device = device
            self.name = name
            self.size = size
            self.modified = modified
        }
    }

    public var type = "conflict"
    public var folder: String
    /// The file's name, relative to the folder's root.
    public var path: String
    /// The conflict copy's.
    public var copy: String
    /// What this device had; on a device that had neither, what bears the file's name.
    public var mine: Version
    public var theirs: Version

    public init(folder: String, path: String, copy: String, mine: Version, theirs: Version) {
        self.folder = folder
        self.path = path
        self.copy = copy
        self.mine = mine
        self.theirs = theirs
    }
}

/// A conflict and how its two versions differ.
public struct ConflictDetails: Codable, Equatable, Sendable {
    public var schema = 1
    public var conflict: Conflict
    /// As diff(1) says it, from theirs to mine; nil where there is none.
    public var diff: String?
    /// Whether there is more of it.
    public var isCut: Bool
    /// Why there is no diff, as a sentence.
    public var remark: String?

    public init(conflict: Conflict, diff: String? = nil, isCut: Bool = false, remark: String? = nil) {
        self.conflict = conflict
        self.diff = diff
        self.isCut = isCut
        self.remark = remark
    }

    enum CodingKeys: String, CodingKey { case schema, conflict, diff, isCut = "cut", remark }
}

/// The conflicts of a file, or of a directory and all below it.
public struct ConflictList: Codable, Equatable, Sendable {
    public var schema = 1
    public var conflicts: [ConflictDetails]

    public init(conflicts: [ConflictDetails]) { self.conflicts = conflicts }
}

/// How to settle conflicts.
public struct ConflictResolution: Codable, Equatable, Sendable {
    public enum Keep: String, Codable, Sendable, CaseIterable { case mine, theirs, both }

    /// Conflict copies, or the files that they are copies of; at most `ControlLimits.paths`.
    public var paths: [PathReference]
    public var keep: Keep

    public init(paths: [PathReference], keep: Keep) {
        self.paths = paths
        self.keep = keep
    }
}

/// What became of conflicts.
public struct ConflictAnswer: Codable, Equatable, Sendable {
    public struct Outcome: Codable, Equatable, Sendable {
        public var conflict: Conflict
        public var keep: ConflictResolution.Keep
        /// The new name of the copy, where both are kept.
        public var renamed: String?
        /// Where in the archive what was not kept is, absolute; nil where it is gone, or both are kept.
        public var archived: String?
        /// Why nothing was done, as a sentence; nil if it was.
        public var problem: String?

        public init(
            conflict: Conflict, keep: ConflictResolution.Keep, renamed: String? = nil, archived: String? = nil,
            problem: String? = nil
        ) {
            self.conflict = conflict
            self.keep = keep
            self.renamed = renamed
            self.archived = archived
            self.problem = problem
        }
    }

    public var schema = 1
    public var outcomes: [Outcome]

    public init(outcomes: [Outcome]) { self.outcomes = outcomes }
}
