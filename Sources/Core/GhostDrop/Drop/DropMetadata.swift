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
    // bounded: the piece's size is from 1 on
    public var chunkCount: Int { size / chunkSize + (size % chunkSize == 0 ? 0 : 1) }

    /// Where a piece lies in the file; nil for one that is none of it.
    public func range(ofChunk sequence: UInt64) -> Range<Int>? {
        guard let index = Int(exactly: sequence), index < chunkCount else { return nil }
        // bounded: the index is less than the number of pieces, so this is within the file
        let start = index * chunkSize
        // bounded: the index is less than the number of pieces, so this is within the file
        return start..<start + min(chunkSize, size - start)
    }

    /// How many of `byteCount` bytes that are here from an earlier attempt need not come again: whole pieces, and two at
    /// least, because `resume` cannot say less (see `DropReceiver`).
    public func resumableByteCount(of byteCount: Int) -> Int {
        let pieces = min(max(byteCount, 0), size) / chunkSize
        return pieces >= 2 ? pieces * chunkSize : 0
    }

    /// A name for the file in a directory of ours; see `DropName`.
    public var localName: String { DropName.local(filename) }
}

/// Names for files that somebody else has named. Pure.
public enum DropName {
    /// What a file system takes for one name, in bytes of UTF-8.
    private static let byteLimit = 255

    /// The last part of `name` without control characters and those that turn the direction of writing, at most 255
    /// bytes, never empty, `.`, `..`, hidden, or one that Syncthing takes for a file that is still on its way.
    public static func local(_ name: String) -> String {
        let last = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? Substring().unicodeScalars
        var text = String(String.UnicodeScalarView(last.filter { !isDangerous($0) }))
        while let first = text.unicodeScalars.first, first == "." || first == "~" || first.properties.isWhitespace {
            text.unicodeScalars.removeFirst()
        }
        while let last = text.unicodeScalars.last, last.properties.isWhitespace { text.unicodeScalars.removeLast() }
        text = cut(text, toByteCount: byteLimit)
        return text.isEmpty ? "file" : text
    }

    /// `name` with ` (number)` before its extension; cut so that it has 255 bytes at most.
    public static func numbered(_ name: String, _ number: Int) -> String {
        let suffix = " (\(number))"
        let dot = name.lastIndex(of: ".").flatMap { $0 > name.startIndex && name[$0...].utf8.count <= 32 ? $0 : nil }
        let end = dot.map { String(name[$0...]) } ?? ""
        let stem = String(name[..<(dot ?? name.endIndex)])
        return cut(stem, toByteCount: byteLimit - suffix.utf8.count - end.utf8.count) + suffix + end
    }

    private static func cut(_ text: String, toByteCount limit: Int) -> String {
        var text = text
        while text.utf8.count > limit { text.unicodeScalars.removeLast() }
        return text
    }

    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate: true
        // Joiners belong to letters and to pictures made of several.
        case .format: scalar.value != 0x200C && scalar.value != 0x200D
        default: false
        }
    }
}
