import Cryptography

/// Asks a device to rename something that it has and the sender has not, so that nobody downloads it for that
/// (docs/decisions/mount.md). Message type 1004, synctrain's own. Syncthing ends a link on it: it is only sent for a folder for which
/// the peer said that it takes it (`ClusterConfig.Folder.takesRenameRequests`).
public struct RenameRequest: Equatable, Sendable, NumberedMessage {
    public var folder: FolderID
    public var from: String
    public var to: String
    /// How many names the sender sees at and below `from`.
    public var nameCount: Int64
    /// What it sees there, as `RenameDigest` has it; the receiver refuses if it sees something else.
    public var digest: SHA256Digest?

    public init(folder: FolderID, from: String, to: String, nameCount: Int64, digest: SHA256Digest?) {
        self.folder = folder
        self.from = from
        self.to = to
        self.nameCount = nameCount
        self.digest = digest
    }

    // What is missing, or is no path, is refused by the answer and does not end the link.
    static let undecoded = RenameRequest(folder: FolderID(""), from: "", to: "", nameCount: 0, digest: nil)

    mutating func decode(
        _ tag: WireReader.Tag, _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> Bool {
        switch tag.field {
        case 2: folder = FolderID(try reader.text(of: tag, atMost: limits.folderIDByteCount, "a folder id"))
        case 3: from = try reader.text(of: tag, atMost: limits.nameByteCount, "a name in a rename request")
        case 4: to = try reader.text(of: tag, atMost: limits.nameByteCount, "a name in a rename request")
        case 5: nameCount = max(0, try reader.int64(of: tag))
        case 6:
            try reader.expect(tag, .bytes)
            digest = try reader.digest("a hash in a rename request")
        default: return false
        }
        return true
    }

    func encode(into writer: inout WireWriter) {
        writer.field(2, text: folder.rawValue)
        writer.field(3, text: from)
        writer.field(4, text: to)
        writer.field(5, signed: nameCount)
        if let digest { writer.field(6, digest: digest) }
    }
}

/// The answer to a `RenameRequest`, matched to it by id. Message type 1005, synctrain's own.
public struct RenameAnswer: Equatable, Sendable, NumberedMessage {
    public enum Outcome: Int32, Sendable, CaseIterable {
        /// Not renamed, for a reason that this version does not know.
        case failed = 0
        /// Renamed; the index of the sender says so, or is about to.
        case done = 1
        /// Not renamed: the sender sees something else there than the receiver.
        case changed = 2
        /// Not renamed: something has the new name, or its directory is missing.
        case taken = 3
        /// Not renamed: not all of it is on the sender's disk as announced, or something else is there, too.
        case incomplete = 4
        /// Not renamed: the receiver, or the folder, takes no changes.
        case notAllowed = 5
        /// Not renamed: a name is none, the folder's own, or excluded there.
        case badName = 6
        /// Not renamed: a program writes to it, or the folder cannot be worked on now.
        case busy = 7
        /// Not renamed: the receiver has asked too often; a second later it may ask again.
        case tooSoon = 8
        /// Not renamed: more names than one request may be about.
        case tooMany = 9
    }

    public var outcome: Outcome

    public init(_ outcome: Outcome) { self.outcome = outcome }

    static let undecoded = RenameAnswer(.failed)

    mutating func decode(
        _ tag: WireReader.Tag, _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> Bool {
        guard tag.field == 2 else { return false }
        outcome = Outcome(rawValue: try reader.int32(of: tag)) ?? .failed
        return true
    }

    func encode(into writer: inout WireWriter) { writer.field(2, signed: Int64(outcome.rawValue)) }
}

/// What a device sees at and below a name, in one hash: of each entry its path relative to that name, its kind, size, content and
/// version. Entries are added a directory before what is in it, by the bytes of the names.
public struct RenameDigest: ~Copyable {
    private var hasher = SHA256Hasher()
    public private(set) var count: Int64 = 0

    public init() {}

    /// - Parameter path: relative to the name that is renamed; empty for that name itself.
    public mutating func add(_ path: some StringProtocol, _ content: KeepContent) {
        var writer = WireWriter()
        writer.message(1) { KeepRequest.Entry(name: String(path), content: content).encode(into: &$0) }
        writer.bytes.withUnsafeBytes { hasher.update($0) }
        count += 1
    }

    public consuming func finish() -> SHA256Digest { hasher.finalize() }
}
