import Cryptography

/// What a sender says of the file that it is about to send.
public struct DropMetadata: Hashable, Sendable {
    public static let greatestChunkSize = 1 << 16

    public var transferID: UniqueID
    /// As the sender wrote it: not to be used as a path (`localName`).
    public var filename: String
    /// In bytes.
    public var size: Int
    public var mimeType: String
    /// 32 bytes.
    public var sha256: [UInt8]
    /// The length of every piece but the last, 1 to 65,536.
    public var chunkSize: Int

    public init(transferID: UniqueID, filename: String, size: Int, mimeType: String, sha256: [UInt8], chunkSize: Int) {
        self.transferID = transferID
        self.filename = filename
        self.size = max(0, size)
        self.mimeType = mimeType
        self.sha256 = sha256
        self.chunkSize = min(max(chunkSize, 1), Self.greatestChunkSize)
    }

    init(_ body: FrameBody) throws(GhostDropError) {
        self.init(
            transferID: try body.uniqueID("transferID"),
            filename: try body.string("filename", limit: DropFrame.textLimit),
            size: try body.integer("size", in: 0...Int.max),
            mimeType: try body.string("mimeType", limit: DropFrame.textLimit),
            sha256: try body.bytes("sha256", count: SHA256Digest.byteCount),
            chunkSize: try body.integer("chunkSize", in: 1...Self.greatestChunkSize))
    }

    var members: [String: DropJSON] {
        [
            "transferID": .string(transferID.description), "filename": .string(filename), "size": .integer(size),
            "mimeType": .string(mimeType), "sha256": .bytes(sha256), "chunkSize": .integer(chunkSize),
        ]
    }

    /// How many pieces the file is sent in.
    public var chunkCount: Int { size / chunkSize + (size % chunkSize == 0 ? 0 : 1) }

    /// Where a piece lies in the file; nil for one that is none of it.
    public func range(ofChunk sequence: UInt64) -> Range<Int>? {
        guard let index = Int(exactly: sequence), index < chunkCount else { return nil }
        let start = index * chunkSize
        return start..<start + min(chunkSize, size - start)
    }

    /// A name for the file in a directory of ours: the last part of `filename` without control characters, at most 255
    /// bytes, never empty, `.`, `..` or hidden.
    public var localName: String {
        let last = filename.split { $0 == "/" || $0 == "\\" }.last ?? ""
        var name = String(String.UnicodeScalarView(last.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))
        while name.utf8.first == UInt8(ascii: ".") || name.utf8.first == UInt8(ascii: " ") { name.removeFirst() }
        while name.utf8.count > 255 { name.removeLast() }
        return name.isEmpty ? "file" : name
    }
}
