/// What to look at on this disk now.
package struct ScanRequest: Codable, Equatable, Sendable, PathsRequest {
    /// Files and directories, at most `ControlLimits.paths`; a text that is a folder's id is the folder. Empty: every
    /// folder that is not paused.
    package var paths: [PathReference]

    package init(paths: [PathReference] = []) { self.paths = paths }
}

/// What a scan found.
package struct ScanSummary: Codable, Equatable, Sendable {
    package struct Folder: Codable, Equatable, Sendable {
        package var folder: String
        /// Files and symbolic links that were looked at; without `.stfolder` and `.stignore`, as in every count.
        package var files: Int64
        /// Directories that were looked at, without the folder's root.
        package var directories: Int64
        /// Names that are new or other than the index had them.
        package var changed: Int64
        /// Names that are gone.
        package var deleted: Int64
        package var bytesHashed: Int64
        /// Names that could not be scanned; the first of them are in `problemList`.
        package var problems: Int64
        /// At most `FolderStatus.problemLimit`.
        package var problemList: [FolderProblem]
        package var seconds: Double

        package init(
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

    package var schema = 1
    package var folders: [Folder]

    package init(folders: [Folder]) { self.folders = folders }
}

/// Which folder to sync without waiting for its next turn; nil for all.
package struct SyncRequest: Codable, Equatable, Sendable {
    package var folder: String?

    package init(folder: String? = nil) { self.folder = folder }
}
