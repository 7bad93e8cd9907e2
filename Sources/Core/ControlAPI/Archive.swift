/// Asks for members of an archive, in its order.
public struct ArchiveQuery: Equatable, Sendable {
    public static let largestLimit = 1000

    public var archive: PathReference
    /// How many members to pass over.
    public var offset: Int
    /// 1 to `largestLimit`.
    public var limit: Int

    public init(archive: PathReference, offset: Int = 0, limit: Int = ArchiveQuery.largestLimit) {
        self.archive = archive
        self.offset = offset
        self.limit = limit
    }

    func check() throws(ControlError) {
        try PathReference.check([archive])
        guard (1...Self.largestLimit).contains(limit), offset >= 0 else {
            throw ControlError(.invalidRequest, "limit must be between 1 and \(Self.largestLimit), offset at least 0.")
        }
    }
}

/// A file in an archive.
public struct MemberReference: Equatable, Sendable {
    public var archive: PathReference
    /// As `ArchiveEntry.path`.
    public var member: String

    public init(archive: PathReference, member: String) {
        self.archive = archive
        self.member = member
    }

    func check() throws(ControlError) {
        try PathReference.check([archive])
        guard member.utf8.count <= ControlLimits.path else {
            throw ControlError(.tooLarge, "The path of a member is limited to \(ControlLimits.path) bytes.")
        }
    }
}

/// A name in an archive.
public struct ArchiveEntry: Codable, Equatable, Sendable {
    /// As the archive has it: it may be absolute or hold `..`, and is never to be opened as a path.
    public var path: String
    public var kind: Entry.Kind
    /// Bytes when it is unpacked.
    public var size: Int64
    /// RFC 3339. Zips of the old kind have no zone: theirs is taken for UTC.
    public var modified: String?
    /// True, or not there.
    public var encrypted: Bool?
    /// Where a symbolic link leads, if the archive's directory says it.
    public var target: String?

    public init(
        path: String, kind: Entry.Kind, size: Int64, modified: String? = nil, encrypted: Bool? = nil,
        target: String? = nil
    ) {
        self.path = path
        self.kind = kind
        self.size = size
        self.modified = modified
        self.encrypted = encrypted
        self.target = target
    }
}

/// Some of an archive's members.
public struct ArchiveListing: Codable, Equatable, Sendable {
    public var schema = 1
    public var members: [ArchiveEntry]
    /// How many come before the first of these.
    public var offset: Int
    /// Of the archive.
    public var total: Int

    public init(members: [ArchiveEntry], offset: Int, total: Int) {
        self.members = members
        self.offset = offset
        self.total = total
    }
}

/// What is known of a member before its bytes come.
public struct MemberFacts: Equatable, Sendable {
    /// Bytes when it is unpacked.
    public var size: Int64
    /// Whether parts of it can be asked for; else it comes from its beginning to its end.
    public var isSeekable: Bool

    public init(size: Int64, isSeekable: Bool) {
        self.size = size
        self.isSeekable = isSeekable
    }
}
