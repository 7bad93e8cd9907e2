import BlockExchange
import ControlAPI
import Fetching
import IndexStore
import NIOCore
import SyncDecisions

/// Reads the bytes of files of the global index, from here or from other devices.
struct FileReading: Sendable {
    /// Bytes that an ordered read may have under way or in memory ahead of its reader.
    private static let readAheadBytes = 16 << 20

    let entries: EntrySource
    let cache: BlockCache
    let transfers: TransferRegistry

    func read(
        _ reference: PathReference, range: ByteRange?,
        start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let (folder, path) = try entries.finder.resolve(reference)
        let entry = try await entries.reader(folder).stat(path)
        guard let found = try await entries.index.global(folder.id, path), found.isPresent,
            let file = try await entries.index.file(folder.id, path)
        else {
            throw ControlError(
                .noSuchPath, "\(path) exists only on this disk, not in the index of \(folder.id); read it directly",
                path: path)
        }
        guard file.kind == .file else {
            throw ControlError(
                .invalidRequest, "\(path) is not a file; `cat` needs one, `fetch` takes directories too", path: path)
        }
        let bytes: ClosedRange<Int64>?
        if let range {
            bytes = range.resolved(size: file.size)
            guard bytes != nil else {
                throw ControlError(
                    .rangeNotSatisfiable, "\(path) has \(file.size) bytes; the range is outside the file",
                    path: path)
            }
        } else {
            // bounded: more than zero where it is used
            bytes = file.size > 0 ? 0...file.size - 1 : nil
        }
        guard let bytes else { return try await start(entry, nil) }

        let readAhead = ReadAhead(limit: max(2, Self.readAheadBytes / max(1, file.effectiveBlockSize)))
        let transfer = transfers.begin(
            folder: folder.id, path: path, bytesTotal: bytes.upperBound - bytes.lowerBound + 1)
        defer { transfers.end(transfer) }
        let fetch = BlockFetch(
            folder: folder.id, file: file, holders: found.holders, environment: entries.fetching,
            store: { [cache] block, bytes in
                cache.keep(bytes, hash: file.blocks[block].hash, of: folder.id)
            }, came: { [transfers] in transfers.came(transfer, $0, from: $1) })
        // What goes wrong before the first bytes are here is still an answer of its own.
        var hasStarted = false
        try await fetch.runInOrder(file.blocks(holding: bytes), readAhead: readAhead) { block, data in
            let offset = file.blocks[block].offset
            // bounded: both are from zero on, and the size is not zero where it is used
            let from = Int(max(bytes.lowerBound - offset, 0))
            // bounded: both are from zero on, and the size is not zero where it is used
            let through = Int(min(bytes.upperBound - offset, Int64(data.readableBytes) - 1))
            guard through >= from else { return }
            // bounded: both are from zero on, and the size is not zero where it is used
            transfers.progressed(transfer, by: Int64(through - from + 1), from: nil)
            if !hasStarted { try await start(entry, bytes) }
            hasStarted = true
            // bounded: both are from zero on, and the size is not zero where it is used
            try await emit(Array(data.readableBytesView.dropFirst(from).prefix(through - from + 1)))
        }
    }
}
