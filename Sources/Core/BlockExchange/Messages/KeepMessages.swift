import Cryptography

/// A version of a file, link or directory together with its content, by which two devices know that they mean the same.
public struct KeepContent: Hashable, Sendable {
    public var version: VersionVector
    /// `file`, `directory` or `symlink`.
    public var kind: FileInfo.Kind
    /// Bytes; 0 for everything but a file.
    public var size: Int64
    /// Of a file the hash over the hashes of its blocks, of a link the hash of its target; nil for a directory.
    public var digest: SHA256Digest?

    public init(version: VersionVector, kind: FileInfo.Kind, size: Int64, digest: SHA256Digest?) {
        self.version = version
        self.kind = kind.isSymlink ? .symlink : kind
        self.size = size
        self.digest = digest
    }

    /// What an announcement with `blocksHash` says; nil for a deletion, and where the content is unknown.
    public init?(_ file: FileInfo) {
        guard !file.isDeleted else { return nil }
        switch file.kind {
        case .file:
            guard let hash = file.blocksHash else { return nil }
            self.init(version: file.version, kind: .file, size: file.size, digest: hash)
        case .directory: self.init(version: file.version, kind: .directory, size: 0, digest: nil)
        case .symlink, .symlinkToFile, .symlinkToDirectory:
            self.init(
                version: file.version, kind: .symlink, size: 0, digest: SHA256.digest(file.symlinkTarget))
        }
    }
}

/// What two synctrain devices agree on before one of them frees files that the other has (docs/decisions/space.md).
/// Message type 1000, synctrain's own. Syncthing ends a link on it: it is only sent for a folder for which the peer said
/// that it takes it (`ClusterConfig.Folder.takesKeepRequests`).
public struct KeepRequest: Equatable, Sendable, NumberedMessage {
    public enum Kind: Int32, Sendable, CaseIterable {
        /// The sender states its mode and how many promises it has given the receiver.
        case state = 0
        /// The sender asks the receiver to promise that it keeps these.
        case ask = 1
        /// The sender no longer needs the receiver's promise to keep these.
        case release = 2
    }

    public struct Entry: Equatable, Sendable {
        public var name: String
        public var content: KeepContent

        public init(name: String, content: KeepContent) {
            self.name = name
            self.content = content
        }

        /// Bytes on the wire, with its key and length, or a few more.
        public var byteCount: Int { name.utf8.count + content.version.counters.count * 24 + 64 }
    }

    public var folder: FolderID
    public var kind: Kind
    /// With `state`: how much of the folder the sender keeps.
    public var mode: FolderMode?
    /// With `state`: how many requests for promises of the receiver the sender has granted something of. Less than the receiver
    /// knows of means that the sender has lost what it promised.
    public var promiseCount: Int64
    public var entries: [Entry]

    public init(
        folder: FolderID, kind: Kind, mode: FolderMode? = nil, promiseCount: Int64 = 0, entries: [Entry] = []
    ) {
        self.folder = folder
        self.kind = kind
        self.mode = mode
        self.promiseCount = promiseCount
        self.entries = entries
    }

    /// Entries and bytes that one request has at most, as this device makes them.
    public static let entryLimit = 1000
    public static let byteLimit = 1 << 20

    // A name that is not a canonical path is refused by the answer and does not end the link.
    static let undecoded = KeepRequest(folder: FolderID(""), kind: .state)
    var reservedByteCount: Int { entries.reduce(64) { $0 + $1.byteCount } }

    mutating func decode(
        _ tag: WireReader.Tag, _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> Bool {
        switch tag.field {
        case 2: folder = FolderID(try reader.text(of: tag, atMost: limits.folderIDByteCount, "a folder id"))
        case 3:
            guard let kind = Kind(rawValue: try reader.int32(of: tag)) else {
                throw ProtocolError(.malformed, "a keep request of an unknown kind")
            }
            self.kind = kind
        case 4: mode = FolderMode(rawValue: try reader.int32(of: tag))
        case 5: promiseCount = max(0, try reader.int64(of: tag))
        case 6:
            var nested = try reader.message(of: tag)
            guard entries.count < limits.entriesPerKeepRequest else {
                throw ProtocolError(
                    .tooMany, "a keep request has more than \(limits.entriesPerKeepRequest) entries")
            }
            entries.append(try Entry(decoding: &nested, limits: limits))
        default: return false
        }
        return true
    }

    func encode(into writer: inout WireWriter) {
        writer.field(2, text: folder.rawValue)
        writer.field(3, signed: Int64(kind.rawValue))
        if let mode { writer.field(4, signed: Int64(mode.rawValue)) }
        writer.field(5, signed: promiseCount)
        for entry in entries { writer.message(6) { entry.encode(into: &$0) } }
    }
}

extension KeepRequest.Entry {
    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        self.init(name: "", content: KeepContent(version: VersionVector(), kind: .file, size: 0, digest: nil))
        while let tag = try reader.tag() {
            switch tag.field {
            case 1: name = try reader.text(of: tag, atMost: limits.nameByteCount, "a name in a keep request")
            case 2:
                var nested = try reader.message(of: tag)
                content.version = try VersionVector(decoding: &nested, limits: limits)
            case 3:
                guard let kind = FileInfo.Kind(rawValue: try reader.int32(of: tag)) else {
                    throw ProtocolError(.malformed, "a keep request names a thing of an unknown kind")
                }
                content.kind = kind.isSymlink ? .symlink : kind
            case 4: content.size = try reader.int64(of: tag)
            case 5:
                try reader.expect(tag, .bytes)
                content.digest = try reader.digest("a hash in a keep request")
            default: try reader.skip(tag.type)
            }
        }
        guard !name.isEmpty, content.size >= 0 else {
            throw ProtocolError(.malformed, "a keep request has an entry without a name, or of a negative size")
        }
    }

    func encode(into writer: inout WireWriter) {
        writer.field(1, text: name)
        if !content.version.isEmpty { writer.message(2) { content.version.encode(into: &$0) } }
        writer.field(3, signed: Int64(content.kind.rawValue))
        writer.field(4, signed: content.size)
        if let digest = content.digest { writer.field(5, digest: digest) }
    }
}

/// The answer to a `KeepRequest`, matched to it by id. Message type 1001, synctrain's own.
public struct KeepAnswer: Equatable, Sendable, NumberedMessage {
    /// False if the request was not looked at: the folder is not shared, paused, or cannot be worked on now.
    public var isAccepted: Bool
    /// The positions of the entries that the sender promises to keep, rising; of other requests none.
    public var granted: [Int]
    /// How many requests for promises of the receiver the sender has granted something of by now.
    public var promiseCount: Int64

    public init(isAccepted: Bool, granted: [Int] = [], promiseCount: Int64 = 0) {
        self.isAccepted = isAccepted
        self.granted = granted
        self.promiseCount = promiseCount
    }

    /// The request was not looked at.
    public static let refused = KeepAnswer(isAccepted: false)

    static let undecoded = refused

    mutating func decode(
        _ tag: WireReader.Tag, _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> Bool {
        switch tag.field {
        case 2: isAccepted = try reader.bool(of: tag)
        case 3:
            try reader.expect(tag, .bytes)
            let bits = try reader.borrowed(atMost: (limits.entriesPerKeepRequest + 7) / 8, "a keep answer")
            granted = []
            for (index, byte) in bits.enumerated() {
                for bit in 0..<8 where byte >> UInt8(bit) & 1 == 1 { granted.append(index &* 8 &+ bit) }
            }
        case 4: promiseCount = max(0, try reader.int64(of: tag))
        default: return false
        }
        return true
    }

    func encode(into writer: inout WireWriter) {
        writer.field(2, flag: isAccepted)
        var bits: [UInt8] = []
        for position in granted {
            while bits.count <= position / 8 { bits.append(0) }
            bits[position / 8] |= 1 << UInt8(position % 8)
        }
        writer.field(3, bytes: bits)
        writer.field(4, signed: promiseCount)
    }
}
