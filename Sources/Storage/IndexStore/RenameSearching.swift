import BlockExchange
import GRDB

extension IndexStore {
    /// Files that somebody has and that are as large and as old as what this device has of one of `names`: what these may
    /// be called elsewhere by now. In the order of their ids, at most `limit`; without those named.
    ///
    /// Reads the announcements of all folders: 1,000,000 in about half a second.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func filesLike(_ names: [String], in folder: FolderID, limit: Int = 10_000) async throws -> [NameFacts] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            let need = try NeedReader(database, reader)
            let entries = try names.compactMap { try reader.find($0)?.id }
            guard !entries.isEmpty else { return [] }
            let select = try RawStatement(
                database,
                """
                WITH sought(id) AS (SELECT value FROM json_each(?1))
                SELECT DISTINCT announced.entry FROM announced CROSS JOIN entry ON entry.id = announced.entry
                WHERE (announced.size, announced.modified) IN (
                        SELECT size, modified FROM announced
                        WHERE announcer = \(Announcement.thisDevice) AND entry IN (SELECT id FROM sought))
                    AND announced.announcer <> \(Announcement.thisDevice) AND announced.content IS NOT NULL
                    AND entry.folder = ?2 AND announced.entry NOT IN (SELECT id FROM sought)
                ORDER BY announced.entry LIMIT ?3
                """)
            try select.bind(1, "[" + entries.map(String.init).joined(separator: ",") + "]")
            try select.bind(2, row.number)
            try select.bind(3, Int64(limit))
            var found: [Int64] = []
            while try select.step() { found.append(select.integer(0)) }
            select.reset()
            var known: [Int64: [UInt8]] = [:]
            return try found.map { entry in
                guard let path = try reader.path(of: entry, known: &known) else { throw MalformedRow("no entry") }
                return try need.facts(of: entry, path: path)
            }
        }
    }
}
