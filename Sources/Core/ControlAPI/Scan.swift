/// What to look at on this disk now.
public struct ScanRequest: Codable, Equatable, Sendable {
    /// Files and directories, at most `ControlLimits.paths`; a text that is a folder's id is the folder. Empty: every
    /// folder that is not paused.
    public var paths: [PathReference]

    public init(paths: [PathReference] = []) { self.paths = paths }
}

/// What a scan found.
public struct ScanSummary: Codable, Equatable, Sendable {
    public struct Folder: Codable, Equatable, Sendable {
        public var folder: String
        /// Files, symbolic links and directories that were looked at.
        public var files: Int64
        public var directories: Int64
        /// Names that are new or other than the index had them.
        public var changed: Int64
        /// Names that are gone.
        public var deleted: Int64
        public var bytesHashed: Int64
        /// Names that could not be scanned; the first of them are in `problemList`.
        public var problems: Int64
        /// At most `FolderStatus.problemLimit`.
        public var problemList: [FolderProblem]
        public var seconds: Double

        public init(
            folder: String, files: Int64 = 0, directories: Int64 = 0, changed: Int64 = 0, deleted: Int64 = 0,
            bytesHashed: Int64 = 0, problems: Int64 = 0, problemList: [FolderProblem] = [], seconds: Double = 0
        ) {
            self.folder = folder
            self.files = files
            self.directories = directories
            self.changed = changed
            self.deleted = deleted
            self.bytesHashed = bytesHashed
            self.problems = problems
            self.problemList = problemList
            self.seconds = seconds
        }
    }

    public var schema = 1
    public var folders: [Folder]

    public init(folders: [Folder]) { self.folders = folders }
}

/// Which folder to sync without waiting for its next turn; nil for all.
public struct SyncRequest: Codable, Equatable, Sendable {
    public var folder: String?

    public init(folder: String? = nil) { self.folder = folder }
}
