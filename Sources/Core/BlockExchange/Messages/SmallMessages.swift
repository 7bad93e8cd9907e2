import Cryptography
import NIOCore

/// Asks for one block (BEP v1, Request).
public struct BlockRequest: Equatable, Sendable {
    public var folder: FolderID
    public var name: String
    public var offset: Int64
    public var size: Int32
    /// The whole block's hash. Syncthing takes a mismatch for damage of its own file, so a request without the whole
    /// block and its hash is never sent.
    public var hash: SHA256Digest?
    public var isFromTemporary: Bool
    /// The block's Adler-32, as its announcement had it; 0 for none. Syncthing 1.x compares this instead of the hash
    /// before it answers, which costs it a fraction of the time. 2.x ignores it.
    public var weakHash: UInt32
    public var blockIndex: Int32

    public init(
        folder: FolderID, name: String, offset: Int64, size: Int32, hash: SHA256Digest?, isFromTemporary: Bool = false,
        weakHash: UInt32 = 0, blockIndex: Int32 = 0
    ) {
        self.folder = folder
        self.name = name
        self.offset = offset
        self.size = size
        self.hash = hash
        self.isFromTemporary = isFromTemporary
        self.weakHash = weakHash
        self.blockIndex = blockIndex
    }

    /// Decodes a request and its id. A name that is not a canonical path is refused by the answer and does not end the link.
    static func decode(
        _ reader: inout WireReader, limits: ExchangeLimits
    ) throws(ProtocolError) -> (id: Int32, request: BlockRequest) {
        var id: Int32 = 0
        var request = BlockRequest(folder: FolderID(""), name: "", offset: 0, size: 0, hash: nil)
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .varint)
                id = try reader.int32()
            case 2:
                try reader.expect(tag, .bytes)
                request.folder = FolderID(try reader.text(atMost: limits.folderIDByteCount, "a folder id"))
            case 3:
                try reader.expect(tag, .bytes)
                request.name = try reader.text(atMost: limits.nameByteCount, "a requested name")
            case 4:
                try reader.expect(tag, .varint)
                request.offset = try reader.int64()
            case 5:
                try reader.expect(tag, .varint)
                request.size = try reader.int32()
            case 6:
                try reader.expect(tag, .bytes)
                let hash = try reader.borrowed()
                // Empty means none; other lengths cannot match anything.
                if !hash.isEmpty {
                    guard let digest = SHA256Digest(hash) else {
                        throw ProtocolError(.malformed, "a request's hash has \(hash.count) bytes")
                    }
                    request.hash = digest
                }
            case 7:
                try reader.expect(tag, .varint)
                request.isFromTemporary = try reader.bool()
            case 8:
                try reader.expect(tag, .varint)
                request.weakHash = UInt32(truncatingIfNeeded: try reader.varint())
            case 9:
                try reader.expect(tag, .varint)
                request.blockIndex = try reader.int32()
            default: try reader.skip(tag.type)
            }
        }
        guard request.size >= 0, request.size <= 32 << 20, request.offset >= 0,
            // bounded: the size is from zero to 32 MiB here
            request.offset <= Int64.max - Int64(request.size)
        else {
            throw ProtocolError(.malformed, "a request for \(request.size) bytes at \(request.offset)")
        }
        return (id, request)
    }

    func encoded(id: Int32) -> [UInt8] {
        var writer = WireWriter(reserving: name.utf8.count + folder.rawValue.utf8.count + 80)
        writer.field(1, signed: Int64(id))
        writer.field(2, text: folder.rawValue)
        writer.field(3, text: name)
        writer.field(4, signed: offset)
        writer.field(5, signed: Int64(size))
        if let hash { writer.field(6, digest: hash) }
        writer.field(7, flag: isFromTemporary)
        writer.field(8, unsigned: UInt64(weakHash))
        writer.field(9, signed: Int64(blockIndex))
        return writer.bytes
    }
}

/// How a request was answered (BEP v1, ErrorCode).
public enum ResponseCode: Int32, Sendable {
    case ok = 0
    case generic = 1
    case noSuchFile = 2
    case invalidFile = 3
}

/// The answer to a request, matched to it by id.
public struct BlockResponse: Equatable, Sendable {
    public var id: Int32
    public var data: ByteBuffer
    public var code: ResponseCode

    public init(id: Int32, data: ByteBuffer, code: ResponseCode) {
        self.id = id
        self.data = data
        self.code = code
    }

    /// Decodes the envelope; the data stays where it is in the body and is named by its place.
    static func decode(
        _ reader: inout WireReader
    ) throws(ProtocolError) -> (id: Int32, code: ResponseCode, data: Range<Int>) {
        var id: Int32 = 0
        var code = ResponseCode.ok
        var data = 0..<0
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .varint)
                id = try reader.int32()
            case 2:
                try reader.expect(tag, .bytes)
                let part = try reader.borrowed()
                // bounded: the reader's place is within its bytes
                data = reader.offset - part.count..<reader.offset
            case 3:
                try reader.expect(tag, .varint)
                code = ResponseCode(rawValue: try reader.int32()) ?? .generic
            default: try reader.skip(tag.type)
            }
        }
        return (id, code, data)
    }
}

/// Which blocks of files still under way the sender can serve already (BEP v1, DownloadProgress).
public struct DownloadProgress: Equatable, Sendable {
    public struct Update: Equatable, Sendable {
        public enum Kind: Int32, Sendable { case append = 0, forget = 1 }

        public var kind: Kind
        public var name: String
        public var version: VersionVector
        public var blockIndexes: [Int32]
        public var blockSize: Int32

        public init(
            kind: Kind, name: String, version: VersionVector, blockIndexes: [Int32] = [], blockSize: Int32 = 0
        ) {
            self.kind = kind
            self.name = name
            self.version = version
            self.blockIndexes = blockIndexes
            self.blockSize = blockSize
        }
    }

    public var folder: FolderID
    public var updates: [Update]

    public init(folder: FolderID, updates: [Update]) {
        self.folder = folder
        self.updates = updates
    }

    init(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) {
        self.init(folder: FolderID(""), updates: [])
        var indexCount = 0
        while let tag = try reader.tag() {
            switch tag.field {
            case 1:
                try reader.expect(tag, .bytes)
                folder = FolderID(try reader.text(atMost: limits.folderIDByteCount, "a folder id"))
            case 2:
                try reader.expect(tag, .bytes)
                guard updates.count < limits.progressUpdates else {
                    throw ProtocolError(.tooMany, "a download progress has more than \(limits.progressUpdates) updates")
                }
                var nested = WireReader(try reader.borrowed())
                updates.append(try Update(decoding: &nested, limits: limits, indexCount: &indexCount))
            default: try reader.skip(tag.type)
            }
        }
    }

    func encode(into writer: inout WireWriter) {
        writer.field(1, text: folder.rawValue)
        for update in updates { writer.message(2) { update.encode(into: &$0) } }
    }
}

extension DownloadProgress.Update {
    init(decoding reader: inout WireReader, limits: ExchangeLimits, indexCount: inout Int) throws(ProtocolError) {
        self.init(kind: .append, name: "", version: VersionVector())
        func count(_ indexCount: inout Int) throws(ProtocolError) {
            indexCount += 1
            guard indexCount <= limits.progressBlockIndexes else {
                throw ProtocolError(
                    .tooMany, "a download progress names more than \(limits.progressBlockIndexes) blocks")
            }
        }
        while let tag = try reader.tag() {
            switch (tag.field, tag.type) {
            case (1, .varint): kind = Kind(rawValue: try reader.int32()) ?? .forget
            case (2, .bytes): name = try reader.text(atMost: limits.nameByteCount, "a name in a download progress")
            case (3, .bytes):
                var nested = WireReader(try reader.borrowed())
                version = try VersionVector(decoding: &nested, limits: limits)
            case (4, .varint):
                try count(&indexCount)
                blockIndexes.append(try reader.int32())
            case (4, .bytes):
                var packed = WireReader(try reader.borrowed())
                while !packed.isAtEnd {
                    try count(&indexCount)
                    blockIndexes.append(try packed.int32())
                }
            case (5, .varint): blockSize = try reader.int32()
            default: try reader.skip(tag.type)
            }
        }
    }

    func encode(into writer: inout WireWriter) {
        writer.field(1, signed: Int64(kind.rawValue))
        writer.field(2, text: name)
        if !version.isEmpty { writer.message(3) { version.encode(into: &$0) } }
        // Unpacked, as Syncthing writes and expects it; index 0 counts, so zeros are written too.
        for index in blockIndexes {
            writer.varint(4 << 3)
            writer.varint(UInt64(bitPattern: Int64(index)))
        }
        writer.field(5, signed: Int64(blockSize))
    }
}

/// Reads the reason out of a Close.
func closeReason(decoding reader: inout WireReader, limits: ExchangeLimits) throws(ProtocolError) -> String {
    var reason = ""
    while let tag = try reader.tag() {
        if tag.field == 1, tag.type == .bytes {
            let text = try reader.borrowed()
            reason = String(decoding: text.prefix(limits.textByteCount), as: UTF8.self)
        } else {
            try reader.skip(tag.type)
        }
    }
    return reason
}
