import Glibc
import Phrases

/// The file that says that a directory outside of a folder is an archive of old versions.
///
/// What looks like a version in any other directory is somebody's file.
package enum ArchiveMarker {
    package static let name = ".synctrain-archive"
    package static let text = """
        This directory has old versions of files. synctrain archives them here and removes them again.
        Do not delete this file. If it is missing, synctrain assumes that the disk is not mounted and replaces no files.

        """

    /// Whether a directory with these names, besides the marker, has nothing of anybody's.
    package static func isEmpty(_ names: some Sequence<String>) -> Bool {
        // What a new disk has.
        names.allSatisfy { $0 == "lost+found" }
    }

    /// Checks that the archive of old versions can be at `path`: nothing is there, an empty directory, or an archive.
    ///
    /// - Throws: `folderRefused` for a directory that is in use.
    package static func check(_ path: String) throws(ConfigurationError) {
        guard let names = names(in: path), !isEmpty(names), !names.contains(name) else { return }
        throw ConfigurationError(
            .folderRefused,
            Phrase(
                "this directory is in use: files in it could be taken for old versions and be removed. Choose an empty directory; "
                    + "if old versions of this folder are in it, create the file \(name) in it first"),
            file: path)
    }

    /// Marks what another program left at `path`, if there is anything.
    ///
    /// - Throws: `noPermission`, `noSpace` or `failed`.
    package static func mark(_ path: String) throws(ConfigurationError) {
        guard let names = names(in: path), !names.contains(name) else { return }
        try StoredFile.write(Array(text.utf8), to: "\(path)/\(name)", mode: 0o644, isReplacing: false)
    }

    /// Nil if no directory is there that this user may read.
    private static func names(in path: String) -> [String]? {
        guard let stream = opendir(path) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { bytes in
                bytes.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
