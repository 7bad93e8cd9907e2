import NIOCore

/// Reads the body of an Index or IndexUpdate as it arrives and hands its entries on in batches, so that neither the
/// message nor its entries are ever held whole.
struct IndexReader {
    private var folder: FolderID?
    private let isFullIndex: Bool
    private let limits: ExchangeLimits
    private var files: [FileInfo] = []
    /// Wire bytes of the entries in `files`.
    private(set) var batchByteCount = 0
    private var isFirst = true
    private var lastSequence: Int64 = 0
    private var previousSequence: Int64 = 0

    init(isFullIndex: Bool, limits: ExchangeLimits) {
        self.isFullIndex = isFullIndex
        self.limits = limits
    }

    /// Takes what it can from `bytes`, the next `bytes.count` of the `remaining` bytes of the body.
    ///
    /// - Returns: how many bytes it used up, and a batch if one is full or the body has ended. No batch: more bytes are
    ///   needed, behind the ones that it did not use.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, remaining: Int
    ) throws(ProtocolError) -> (used: Int, batch: IndexBatch?) {
        var reader = WireReader(bytes)
        var used = 0
        while !reader.isAtEnd {
            do {
                try readField(&reader, remaining: remaining - used)
            } catch {
                // A field that is cut off is waited for, unless the body has no more bytes to give.
                guard error == WireReader.truncated, bytes.count < remaining else { throw error }
                guard bytes.count - used <= limits.bufferedByteCount else {
                    throw ProtocolError(
                        .tooLarge, "an index has a field of more than \(limits.bufferedByteCount) bytes")
                }
                return (used, nil)
            }
            // bounded: the reader's place is within its bytes
            batchByteCount += reader.offset - used
            used = reader.offset
            if used < remaining, files.count >= limits.entriesPerBatch || batchByteCount >= limits.bytesPerBatch {
                // What is no entry costs nothing to keep and makes no batch.
                guard files.isEmpty else { return (used, try takeBatch(isLast: false)) }
                batchByteCount = 0
            }
        }
        return (used, used == remaining ? try takeBatch(isLast: true) : nil)
    }

    private mutating func readField(_ reader: inout WireReader, remaining: Int) throws(ProtocolError) {
        guard let tag = try reader.tag() else { return }
        switch tag.field {
        case 1:
            try reader.expect(tag, .bytes)
            let folder = FolderID(try reader.text(atMost: limits.folderIDByteCount, "a folder id"))
            guard self.folder == nil else { throw ProtocolError(.malformed, "an index names its folder twice") }
            self.folder = folder
        case 2:
            try reader.expect(tag, .bytes)
            guard folder != nil else { throw ProtocolError(.malformed, "an index has entries before its folder") }
            let entry = try reader.borrowed(atMost: limits.bufferedByteCount, "an index entry")
            var nested = WireReader(entry)
            if files.isEmpty {
                files.reserveCapacity(min(limits.entriesPerBatch, remaining / max(entry.count, 1) + 1))
            }
            do {
                files.append(FileInfo(undecoded: ()))
                try files[files.count - 1].decode(&nested, limits: limits)
            } catch {
                // The entry is here whole: what it lacks will not come.
                throw error == WireReader.truncated
                    ? ProtocolError(.malformed, "an index entry ends in the middle of a field") : error
            }
        case 3:
            try reader.expect(tag, .varint)
            lastSequence = try reader.int64()
        case 4:
            try reader.expect(tag, .varint)
            previousSequence = try reader.int64()
        default: try reader.skip(tag.type)
        }
    }

    private mutating func takeBatch(isLast: Bool) throws(ProtocolError) -> IndexBatch {
        guard let folder else { throw ProtocolError(.malformed, "an index names no folder") }
        defer {
            files = []
            batchByteCount = 0
            isFirst = false
        }
        return IndexBatch(
            folder: folder, files: files, isFullIndex: isFullIndex, isFirst: isFirst, isLast: isLast,
            lastSequence: isLast ? lastSequence : 0, previousSequence: isLast ? previousSequence : 0)
    }
}
