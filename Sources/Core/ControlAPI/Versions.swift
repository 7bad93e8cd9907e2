/// A version of a file that another one has replaced, or that was deleted, in the folder's archive.
public struct ArchivedVersion: ControlLine, Equatable, Sendable {
    public var type = "version"
    public var folder: String
    /// Of the file, relative to the folder's root.
    public var path: String
    /// RFC 3339: when it was archived. Until then it was in its place.
    public var archived: String
    /// Bytes.
    public var size: Int64
    /// RFC 3339.
    public var modified: String
    /// Where it is on this machine, absolute.
    public var file: String

    public init(folder: String, path: String, archived: String, size: Int64, modified: String, file: String) {
        self.folder = folder
        self.path = path
        self.archived = archived
        self.size = size
        self.modified = modified
        self.file = file
    }
}

/// Which version to put back into its place.
public struct VersionRestore: Codable, Equatable, Sendable {
    public var path: PathReference
    /// Seconds since 1970: the version that was in its place then, which is the first that was archived at that time or
    /// later. Nil for the last of all.
    public var at: Int64?
    /// Whether what is in the place may be replaced; else `confirmationNeeded` is thrown if something is.
    public var isConfirmed: Bool

    public init(path: PathReference, at: Int64? = nil, isConfirmed: Bool = false) {
        self.path = path
        self.at = at
        self.isConfirmed = isConfirmed
    }

    enum CodingKeys: String, CodingKey { case path, at, isConfirmed = "confirmed" }
}

/// What was put back.
public struct RestoredVersion: Codable, Equatable, Sendable {
    public var schema = 1
    public var version: ArchivedVersion
    /// Whether another version was in the place.
    public var isReplacement: Bool
    /// Where in the archive that is now, absolute; nil if there was none, or it was not archived.
    public var replaced: String?

    public init(version: ArchivedVersion, isReplacement: Bool, replaced: String?) {
        self.version = version
        self.isReplacement = isReplacement
        self.replaced = replaced
    }

    enum CodingKeys: String, CodingKey { case schema, version, isReplacement = "replacement", replaced }
}
