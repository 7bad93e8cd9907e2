/// Asks for members of an archive, in its order.
package struct ArchiveQuery: Equatable, Sendable, CheckedRequest {
    package static let largestLimit = 1000

    package var archive: PathReference
    /// How many members to pass over.
    package var offset: Int
    /// 1 to `largestLimit`.
    package var limit: Int

    package init(archive: PathReference, offset: Int = 0, limit: Int = ArchiveQuery.largestLimit) {
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
package struct MemberReference: Equatable, Sendable, CheckedRequest {
    package var archive: PathReference
    /// As `ArchiveEntry.path`.
    package var member: String

    package init(archive: PathReference, member: String) {
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
package struct ArchiveEntry: Codable, Equatable, Sendable {
    /// As the archive has it: it may be absolute or hold `..`, and is never to be opened as a path.
    package var path: String
    package var kind: Entry.Kind
    /// Bytes when it is unpacked.
    package var size: Int64
    /// RFC 3339. Zips of the old kind have no zone: theirs is taken for UTC.
    package var modified: String?
    /// True, or not there.
    package var encrypted: Bool?
    /// Where a symbolic link leads, if the archive's directory says it.
    package var target: String?

    package init(
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
package struct ArchiveListing: Codable, Equatable, Sendable {
    package var schema = 1
    package var members: [ArchiveEntry]
    /// How many come before the first of these.
    package var offset: Int
    /// Of the archive.
    package var total: Int

    package init(members: [ArchiveEntry], offset: Int, total: Int) {
        self.members = members
        self.offset = offset
        self.total = total
    }
}

/// What is known of a member before its bytes come.
package struct MemberFacts: Equatable, Sendable {
    /// Bytes when it is unpacked.
    package var size: Int64
    /// Whether parts of it can be asked for; else it comes from its beginning to its end.
    package var isSeekable: Bool

    package init(size: Int64, isSeekable: Bool) {
        self.size = size
        self.isSeekable = isSeekable
    }
}
