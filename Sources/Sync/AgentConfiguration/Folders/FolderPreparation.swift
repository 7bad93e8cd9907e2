import BlockExchange
import Cryptography
import FileAccess
import Glibc
import Names
import Phrases

/// Makes a directory into a folder's root: the directory, its marker and, in selective mode, an empty selection.
package enum FolderPreparation {
    package static let marker = ".stfolder"
    package static let ignoreFile = ".stignore"

    /// The selection of a new selective folder: nothing.
    static let emptySelection = """
        // What this device keeps of the folder: a line `!/path` for each file or directory, and `*` last.
        // `synctrain select` and `synctrain deselect` edit it.
        *

        """

    /// Makes what is missing of `folder`'s root. What is there stays untouched, a `.stignore` too.
    ///
    /// Throws `folderRefused`, `nestedFolder` or `duplicate` with nothing made: the path must be absolute, not `/`, no
    /// file, neither in nor around one of `others` (symbolic links and mounts followed), and must not hold the agent's own key.
    package static func prepare(
        _ folder: FolderConfiguration, others: [FolderConfiguration], places: AgentPlaces
    ) throws(ConfigurationError) {
        try check(folder, others: others, places: places)
        if try !isDirectory(folder.path) { try makeRoot(folder.path) }
        // The marker comes last: a root with a marker has its selection.
        let ignores = folder.path + "/" + ignoreFile
        var status = stat()
        if folder.mode == .selective, lstat(ignores, &status) != 0 {
            try StoredFile.write(Array(emptySelection.utf8), to: ignores, mode: 0o644, isReplacing: false)
        }
        try makeMarker(folder)
    }

    /// Checks that the files of a folder are at the path that it is to have from now on; makes nothing.
    ///
    /// - Parameter old: its path until now.
    /// - Throws: `folderRefused`, `nestedFolder` or `duplicate` as `prepare`, and `folderRefused` for a directory that is missing or
    ///   has no marker; `noPermission` for one that this user may not use.
    package static func checkMoved(
        _ folder: FolderConfiguration, from old: String, others: [FolderConfiguration], places: AgentPlaces
    ) throws(ConfigurationError) {
        try check(folder, others: others, places: places)
        guard try isDirectory(folder.path) else {
            throw ConfigurationError(
                .folderRefused,
                "this directory does not exist; move \(old) there first, or mount its disk",
                file: folder.path)
        }
        var status = stat()
        guard lstat(folder.path + "/" + marker, &status) == 0 else {
            throw ConfigurationError(
                .folderRefused,
                Phrase(
                    "this directory has no \(marker), so it is not the one of the folder; move all of \(old) there first, hidden "
                        + "files too, or remove the folder and add it again to begin with another directory"),
                file: folder.path)
        }
    }

    /// What a path must be for a folder, whether there is something or not.
    private static func check(
        _ folder: FolderConfiguration, others: [FolderConfiguration], places: AgentPlaces
    ) throws(ConfigurationError) {
        if let (_, problem) = folder.problem() { throw problem.at(nil) }
        var real = folder
        real.path = resolved(folder.path)
        let mounts = MountTable.text()
        let place = DirectoryPlace(path: real.path, mounts: mounts)
        for other in others where other.id != folder.id {
            var other = other
            other.path = resolved(other.path)
            if let (_, problem) = Configuration.clash(of: real, with: other) { throw problem.at(nil) }
            if let relation = place.relation(to: DirectoryPlace(path: other.path, mounts: mounts)) {
                throw mountedTwice(real, other, relation)
            }
        }
        guard real.path != "/" else {
            throw ConfigurationError(
                .folderRefused, "the path leads to `/`; choose a directory below it", file: folder.path)
        }
        guard !FolderPath.isSameOrInside(resolved(places.privateKey), real.path) else {
            throw ConfigurationError(
                .folderRefused,
                "the directory holds this device's private key, which must not be shared; choose another directory",
                file: folder.path)
        }
    }

    private static func mountedTwice(
        _ folder: FolderConfiguration, _ other: FolderConfiguration, _ relation: DirectoryPlace.Relation
    ) -> ConfigurationError {
        switch relation {
        case .same:
            ConfigurationError(
                .duplicate,
                "\(folder.path) is the directory of the folder `\(other.id)` (\(other.path)), mounted a second time; choose another "
                    + "directory")
        case .nested:
            ConfigurationError(
                .nestedFolder,
                "the folders `\(folder.id)` (\(folder.path)) and `\(other.id)` (\(other.path)) are nested, because a directory is "
                    + "mounted twice; choose directories that are not in each other")
        }
    }

    /// Whether there is a directory that this user may use; false if there is nothing.
    private static func isDirectory(_ path: String) throws(ConfigurationError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw ConfigurationError(.folderRefused, "this is a file; choose a directory or a new name", file: path)
        }
        guard access(path, R_OK | W_OK | X_OK) == 0 else { throw StoredFile.failure(.use, path, isOfFolder: true) }
        return true
    }

    /// The user's data, so the user's umask decides who may read it.
    private static func makeRoot(_ path: String) throws(ConfigurationError) {
        var made = ""
        for part in path.pathComponents {
            made += "/" + part
            guard mkdir(made, 0o777) != 0, errno != EEXIST else { continue }
            guard errno != ENOTDIR else {
                throw ConfigurationError(
                    .folderRefused, "part of the path is a file; choose another path", file: path)
            }
            throw StoredFile.failure(.make, made, isOfFolder: true)
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw ConfigurationError(
                .folderRefused, "a broken symbolic link is in the way; choose another path", file: path)
        }
    }

    /// Makes the marker, with a text that says what it is; nothing if there is one.
    ///
    /// - Throws: `noPermission`, `noSpace` or `failed`.
    package static func makeMarker(_ folder: FolderConfiguration) throws(ConfigurationError) {
        let directory = folder.path + "/" + marker
        var status = stat()
        guard lstat(directory, &status) != 0 else { return }
        guard mkdir(directory, 0o755) == 0 else {
            throw StoredFile.failure(.make, directory, isOfFolder: true)
        }
        // The name that Syncthing 2 gives it.
        let digest = SHA256.digest(folder.id.rawValue.utf8).description.prefix(6)
        let text = """
            This directory marks the root of the folder `\(folder.id)`, shared by synctrain and Syncthing.
            Do not delete it. If it is missing, they assume that the disk is not mounted and stop syncing.

            """
        try StoredFile.write(
            Array(text.utf8), to: "\(directory)/syncthing-folder-\(digest).txt", mode: 0o644, isReplacing: false)
        try StoredFile.makeDurable(directory: folder.path)
    }

    /// `path` with the symbolic links in its existing part followed; what does not exist yet is kept as it is.
    static func resolved(_ path: String) -> String {
        var existing = path
        var rest = ""
        while existing != "/" {
            if let real = realpath(existing, nil) {
                defer { free(real) }
                let text = String(cString: real)
                return (text == "/" && !rest.isEmpty ? "" : text) + rest
            }
            let parent = StoredFile.directory(of: existing)
            rest = String(existing.dropFirst(parent == "/" ? 0 : parent.count)) + rest
            existing = parent
        }
        return path
    }
}
