/// Which directory of this machine is to be listed.
package struct DirectoryQuery: Equatable, Sendable, CheckedRequest {
    /// Absolute, or `~` and `~/…`; nil for the home directory of the agent's user.
    package var path: String?
    /// Also names that begin with a dot.
    package var includesHidden: Bool

    package init(path: String? = nil, includesHidden: Bool = false) {
        (self.path, self.includesHidden) = (path, includesHidden)
    }

    /// - Throws: `invalidRequest` for a path that is too long.
    func check() throws(ControlError) {
        guard let path, path.utf8.count > ControlLimits.path else { return }
        throw ControlError(.invalidRequest, "A path has at most \(ControlLimits.path) bytes.")
    }
}

/// The directories in a directory of this machine, as far as the agent may read them.
package struct DirectoryListing: Codable, Equatable, Sendable {
    package struct Directory: Codable, Equatable, Sendable {
        package var name: String
        /// Whether the agent may list it.
        package var isReadable: Bool
        /// A symbolic link to a directory.
        package var isLink: Bool
        /// The id of the folder whose directory it is; nil for none.
        package var folder: String?

        package init(name: String, isReadable: Bool = true, isLink: Bool = false, folder: String? = nil) {
            (self.name, self.isReadable, self.isLink, self.folder) = (name, isReadable, isLink, folder)
        }

        enum CodingKeys: String, CodingKey { case name, isReadable = "readable", isLink = "link", folder }
    }

    package var schema = 1
    /// Absolute, without double and trailing slashes.
    package var path: String
    /// The home directory of the agent's user; nil if it is not known.
    package var home: String?
    /// By the bytes of their names; at most a thousand.
    package var directories: [Directory]
    /// Whether these are all.
    package var isWhole: Bool
    /// How many more there are whose names cannot be shown: not UTF-8, or with control characters.
    package var unnameable: Int
    /// Whether the agent may make a directory in it.
    package var isWritable: Bool

    package init(
        path: String, home: String?, directories: [Directory], isWhole: Bool = true, unnameable: Int = 0,
        isWritable: Bool = true
    ) {
        (self.path, self.home, self.directories) = (path, home, directories)
        (self.isWhole, self.unnameable, self.isWritable) = (isWhole, unnameable, isWritable)
    }

    enum CodingKeys: String, CodingKey {
        case schema, path, home, directories, isWhole = "whole", unnameable, isWritable = "writable"
    }
}
