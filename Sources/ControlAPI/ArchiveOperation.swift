/// What is asked about the inside of a zip or an ISO image, as it goes over HTTP.
public enum ArchiveOperation: Equatable, Sendable {
    case list(ArchiveQuery)
    /// A member's bytes; the range is in the `Range` header.
    case member(MemberReference)
    /// `HEAD` of the same.
    case memberHead(MemberReference)

    var method: ControlOperation.Method {
        switch self {
        case .list, .member: .get
        case .memberHead: .head
        }
    }

    var path: String {
        switch self {
        case .list: "/v1/archive"
        case .member, .memberHead: "/v1/archive/member"
        }
    }

    var query: [(String, String)] {
        switch self {
        case .list(let query):
            [
                ("path", query.archive.text), ("cwd", query.archive.workingDirectory), ("limit", String(query.limit)),
                ("offset", String(query.offset)),
            ]
        case .member(let member), .memberHead(let member):
            [
                ("path", member.archive.text), ("cwd", member.archive.workingDirectory), ("member", member.member),
            ]
        }
    }

    func check() throws(ControlError) {
        switch self {
        case .list(let query): try query.check()
        case .member(let member), .memberHead(let member): try member.check()
        }
    }

    /// Nil if the target is none of these.
    init?(method: String, path: String, query: RequestQuery) throws(ControlError) {
        switch (path, ControlOperation.Method(rawValue: method)) {
        case ("/v1/archive", .get):
            self = .list(
                ArchiveQuery(
                    archive: try Self.archive(query), offset: try Self.number("offset", query) ?? 0,
                    limit: try Self.number("limit", query) ?? ArchiveQuery.largestLimit))
        case ("/v1/archive/member", .get): self = .member(try Self.member(query))
        case ("/v1/archive/member", .head): self = .memberHead(try Self.member(query))
        case ("/v1/archive", _), ("/v1/archive/member", _):
            throw ControlError(.methodNotAllowed, "\(path) does not take \(method); see docs/control-api.md.")
        default: return nil
        }
        try check()
    }

    private static func archive(_ query: RequestQuery) throws(ControlError) -> PathReference {
        PathReference(text: try query.required("path"), workingDirectory: query["cwd"] ?? "/")
    }

    private static func member(_ query: RequestQuery) throws(ControlError) -> MemberReference {
        MemberReference(archive: try archive(query), member: try query.required("member"))
    }

    private static func number(_ name: String, _ query: RequestQuery) throws(ControlError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw ControlError(.invalidRequest, "\(name) is a number, not \(text.prefix(40)).")
        }
        return number
    }
}

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
            throw ControlError(.invalidRequest, "limit is a number from 1 to \(Self.largestLimit), offset one from 0.")
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
            throw ControlError(.tooLarge, "A member's name has at most \(ControlLimits.path) bytes.")
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

/// What clients ask of an agent about the insides of archives. Only the blocks that are needed are fetched.
public protocol ArchiveControl: Sendable {
    /// Throws `invalidRequest` for what is no archive, `failed` for a damaged one and `tooLarge` for one beyond the limits.
    func archive(_ query: ArchiveQuery) async throws -> ArchiveListing
    func memberFacts(_ member: MemberReference) async throws -> MemberFacts
    /// As `read`; the range of a member that is not seekable is passed over. `start` gets the range that follows, nil for
    /// an empty member. Of a zip's whole member the last bytes come when its checksum was right, else `failed` is thrown.
    func readMember(
        _ member: MemberReference, range: ByteRange?,
        start: @Sendable (MemberFacts, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws
}
