import BlockExchange
import GRDB

/// What this device tells others.
extension IndexStore {
    /// The entries that this device announces of `folder` with a sequence above `sequence`, in that order, as they go
    /// on the wire: what it does not vouch for is invalid, without size and blocks.
    ///
    /// - parameter limit: at most so many entries.
    /// - parameter blockLimit: ends the page once it has so many blocks; one entry comes in any case.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localUpdates(
        of folder: FolderID, after sequence: Int64, limit: Int, blockLimit: Int = 5000
    ) async throws -> [FileInfo] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            let select = try RawStatement(
                database,
                """
                SELECT own.sequence, own.entry, entry.winner FROM own JOIN entry ON entry.id = own.entry
                WHERE own.folder = ?1 AND own.sequence > ?2 ORDER BY own.sequence LIMIT ?3
                """)
            try select.bind(1, row.number)
            try select.bind(2, sequence)
            try select.bind(3, Int64(limit))
            defer { select.reset() }
            var updates: [FileInfo] = []
            var blockCount = 0
            var known: [Int64: [UInt8]] = [:]
            while blockCount < blockLimit, try select.step() {
                let (sequence, entry, winner) = (select.integer(0), select.integer(1), select.optionalInteger(2))
                guard let path = try reader.path(of: entry, known: &known) else { throw MalformedRow("no entry") }
                let rows = try reader.announcements(of: entry)
                var file: FileInfo
                let winning = rows.first { $0.announcer == winner }
                if let own = rows.first(where: { $0.announcer == Announcement.thisDevice }) {
                    if own.file.isInvalid {
                        let flags = try reader.local(own, of: entry, path: path).flags
                        // As of a name that is not here: for others it is left out, not out of date.
                        let followed = flags.contains(.ignored) && winning?.file.isInvalid == false ? winning : nil
                        file = Self.unvouched(followed?.file ?? own.file)
                        if followed == nil, flags.contains(.receiveOnlyChanged) { file.version = VersionVector() }
                    } else {
                        file = try reader.file(own, name: path)
                    }
                } else if let winning {
                    file = Self.unvouched(winning.file)
                } else {
                    throw MalformedRow("an announced entry without announcement")
                }
                file.name = path
                file.sequence = sequence
                updates.append(file)
                blockCount += file.blocks.count
            }
            return updates
        }
    }

    /// `file` as said by a device that does not count on having it.
    private static func unvouched(_ file: FileInfo) -> FileInfo {
        var file = file
        file.isInvalid = true
        file.size = 0
        file.blockSize = 0
        file.carriedFields = []
        return file
    }
}
