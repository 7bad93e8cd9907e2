/// Deletes files and directories on all devices that share the folder, whether they are on this one or not.
package struct RemovalRequest: Codable, Equatable, Sendable, CheckedRequest {
    /// At most `ControlLimits.paths`; they may lie in several folders, but none of them is a folder's root.
    package var paths: [PathReference]
    /// Only says what it would do.
    package var isDryRun: Bool

    package init(paths: [PathReference], isDryRun: Bool = false) {
        self.paths = paths
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case paths, isDryRun = "dryRun" }

    func check() throws(ControlError) {
        try PathReference.checkSome(paths, of: "rm")
    }
}

package struct RemovalAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var folders: [RemovalOutcome]

    package init(folders: [RemovalOutcome]) { self.folders = folders }
}

/// What deleting in one folder came to, or would come to.
package struct RemovalOutcome: Codable, Equatable, Sendable {
    /// Another device that holds some of the files in their newest version.
    package struct Holder: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        package var isConnected: Bool
        package var files: Int64

        package init(id: String, name: String, isConnected: Bool, files: Int64) {
            self.id = id
            self.name = name
            self.isConnected = isConnected
            self.files = files
        }

        enum CodingKeys: String, CodingKey { case id, name, isConnected = "connected", files }
    }

    /// A file that was on this disk as the other devices have it, and is a version in the folder's archive now.
    package struct Archived: Codable, Equatable, Sendable {
        /// Relative to the folder's root.
        package var path: String
        /// When it was archived, as `VersionRestore.at` takes it to bring back this version.
        package var at: Int64

        package init(path: String, at: Int64) { (self.path, self.at) = (path, at) }
    }

    package static let nameLimit = 1000

    package var folder: String
    package var isDryRun: Bool
    /// Files and links that are deleted everywhere, and their bytes.
    package var files: Int64 = 0
    package var bytes: Int64 = 0
    package var directories: Int64 = 0
    /// How many of the files are on this disk.
    package var localFiles: Int64 = 0
    /// At most `nameLimit`, relative to the folder's root.
    package var names: [String] = []
    /// At most `nameLimit`.
    package var archived: [Archived] = []
    /// In the order of their ids.
    package var holders: [Holder] = []
    /// What is deleted nowhere, because what is here is not what the others have.
    package var staying: [StayingName] = []

    package init(folder: String, isDryRun: Bool) {
        self.folder = folder
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey {
        case folder, isDryRun = "dryRun", files, bytes, directories, localFiles, names, archived, holders, staying
    }
}
