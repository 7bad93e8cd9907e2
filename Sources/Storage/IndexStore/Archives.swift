import BlockExchange
import GRDB

/// Where the archives of folders are that are outside of them.
extension IndexStore {
    /// What is known of a folder's archive.
    package enum ArchiveNote: Equatable, Sendable {
        /// The folder is from before it was noted where archives are made.
        case unknown
        /// It was made, or found, at this path.
        case made(String)
    }

    /// Nil while the folder has had no archive outside.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func archive(of folder: FolderID) async throws -> ArchiveNote? {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT path FROM archive WHERE folder = ?1")
            try select.bind(1, row.number)
            defer { select.reset() }
            guard try select.step() else { return nil }
            let path = select.text(0)
            return path.isEmpty ? .unknown : .made(path)
        }
    }

    /// Notes where a folder's archive is; nil if it has none outside.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func setArchive(_ path: String?, of folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            guard let path else { return try database.execute(sql: "DELETE FROM archive WHERE folder = \(row.number)") }
            let insert = try RawStatement(database, "INSERT OR REPLACE INTO archive (folder, path) VALUES (?1, ?2)")
            try insert.bind(1, row.number)
            try insert.bind(2, path)
            try insert.run()
        }
    }
}
