/// A version of a file that another one has replaced, or that was deleted, in the folder's archive.
package struct ArchivedVersion: ControlLine, Equatable, Sendable {
    package var type = "version"
    package var folder: String
    /// Of the file, relative to the folder's root.
    package var path: String
    /// RFC 3339: when it was archived. Until then it was in its place.
    package var archived: String
    /// Bytes.
    package var size: Int64
    /// RFC 3339.
    package var modified: String
    /// Where it is on this machine, absolute.
    package var file: String

    package init(folder: String, path: String, archived: String, size: Int64, modified: String, file: String) {
        self.folder = folder
        self.path = path
        self.archived = archived
        self.size = size
        self.modified = modified
        self.file = file
    }
}

/// A file that no device has any more, and that can be restored from the folder's archive.
package struct DeletedFile: ControlLine, Equatable, Sendable {
    package var type = "deleted"
    package var folder: String
    /// Relative to the folder's root: where it was.
    package var path: String
    /// RFC 3339: when the last version of it went to the archive.
    package var archived: String
    /// Bytes of that version.
    package var size: Int64
    /// RFC 3339.
    package var modified: String
    /// How many versions of it are archived.
    package var versions: Int
    /// The first group of the id of the device that deleted it; nil if that is not known here.
    package var deletedBy: String?

    package init(
        folder: String, path: String, archived: String, size: Int64, modified: String, versions: Int,
        deletedBy: String? = nil
    ) {
        (self.folder, self.path, self.archived, self.size) = (folder, path, archived, size)
        (self.modified, self.versions, self.deletedBy) = (modified, versions, deletedBy)
    }
}

/// Asks for the bytes of an archived version.
package struct VersionQuery: Equatable, Sendable, PathRequest {
    /// Of a version that is read in one piece; larger ones are restored.
    package static let byteLimit = 32 << 20

    package var path: PathReference
    /// As in `VersionRestore`.
    package var at: Int64

    package init(path: PathReference, at: Int64) { (self.path, self.at) = (path, at) }
}

/// Which version to put back into its place.
package struct VersionRestore: Codable, Equatable, Sendable, PathRequest {
    package var path: PathReference
    /// Seconds since 1970: the version that was in its place then, which is the first that was archived at that time or
    /// later. Nil for the last of all.
    package var at: Int64?
    /// Whether what is in the place may be replaced; else `confirmationNeeded` is thrown if something is.
    package var isConfirmed: Bool

    package init(path: PathReference, at: Int64? = nil, isConfirmed: Bool = false) {
        self.path = path
        self.at = at
        self.isConfirmed = isConfirmed
    }

    enum CodingKeys: String, CodingKey { case path, at, isConfirmed = "confirmed" }
}

/// What was put back.
package struct RestoredVersion: Codable, Equatable, Sendable {
    package var schema = 1
    package var version: ArchivedVersion
    /// Whether another version was in the place.
    package var isReplacement: Bool
    /// Where in the archive that is now, absolute; nil if there was none, or it was not archived.
    package var replaced: String?

    package init(version: ArchivedVersion, isReplacement: Bool, replaced: String?) {
        self.version = version
        self.isReplacement = isReplacement
        self.replaced = replaced
    }

    enum CodingKeys: String, CodingKey { case schema, version, isReplacement = "replacement", replaced }
}
