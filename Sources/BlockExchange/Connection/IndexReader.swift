import NIOCore

/// Reads the body of an Index or IndexUpdate as it arrives and hands its entries on in batches, so that neither the
/// message nor its entries are ever held whole.
struct IndexReader {
    private var folder: FolderID?
    private let isFullIndex: Bool
    private let limits: ExchangeLimits
    private var files: [FileInfo] = []
    private var batchByteCount = 0
    private var isFirst = true
    private var lastSequence: Int64 = 0
    private var previousSequence: Int64 = 0

    init(isFullIndex: Bool, limits: ExchangeLimits) {
        self.isFullIndex = isFullIndex
        self.limits = limits
    }

    /// Takes what it can from `bytes`, the next `bytes.count` of the `remaining` bytes of the body.
    ///
    /// - Returns: how many bytes it used up, and a batch if one is full or the body has ended. Used none and no batch:
    ///   more bytes are needed.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, remaining: Int
    ) throws(ProtocolError) -> (used: Int, batch: IndexBatch?) {
        var reader = WireReader(bytes)
        var used = 0
        while !reader.isAtEnd {
            let field: Field
            do {
                field = try next(&reader)
            } catch {
                // A field that is cut off is waited for, unless the body has no more bytes to give.
                guard error == WireReader.truncated, bytes.count < remaining else { throw error }
                guard reader.bytes.count - used <= limits.bufferedByteCount else {
                    throw ProtocolError(.tooLarge, "an index entry has more than \(limits.bufferedByteCount) bytes")
                }
                return (used, nil)
            }
            batchByteCount += reader.offset - used
            used = reader.offset
            switch field {
            case .other: break
            case .file(let file):
                files.append(file)
                if used < remaining, files.count >= limits.entriesPerBatch || batchByteCount >= limits.bytesPerBatch {
                    return (used, try takeBatch(isLast: false))
                }
            }
        }
        return (used, used == remaining ? try takeBatch(isLast: true) : nil)
    }

    private enum Field {
        case file(FileInfo)
        case other
    }

    private mutating func next(_ reader: inout WireReader) throws(ProtocolError) -> Field {
        guard let tag = try reader.tag() else { return .other }
        switch tag.field {
        case 1:
            try reader.expect(tag, .bytes)
            let folder = FolderID(try reader.text(atMost: limits.folderIDByteCount, "a folder id"))
            guard self.folder == nil else { throw ProtocolError(.malformed, "an index names its folder twice") }
            self.folder = folder
        case 2:
            try reader.expect(tag, .bytes)
            guard folder != nil else { throw ProtocolError(.malformed, "an index has entries before its folder") }
            var nested = WireReader(try reader.borrowed())
            do {
                return .file(try FileInfo(decoding: &nested, limits: limits))
            } catch {
                // The entry is here whole: what it lacks will not come.
                throw error == WireReader.truncated
                    ? ProtocolError(.malformed, "an index entry ends in a field") : error
            }
        case 3:
            try reader.expect(tag, .varint)
            lastSequence = try reader.int64()
        case 4:
            try reader.expect(tag, .varint)
            previousSequence = try reader.int64()
        default: try reader.skip(tag.type)
        }
        return .other
    }

    private mutating func takeBatch(isLast: Bool) throws(ProtocolError) -> IndexBatch {
        guard let folder else { throw ProtocolError(.malformed, "an index names no folder") }
        defer {
            files.removeAll(keepingCapacity: false)
            batchByteCount = 0
            isFirst = false
        }
        return IndexBatch(
            folder: folder, files: files, isFullIndex: isFullIndex, isFirst: isFirst, isLast: isLast,
            lastSequence: isLast ? lastSequence : 0, previousSequence: isLast ? previousSequence : 0)
    }
}
