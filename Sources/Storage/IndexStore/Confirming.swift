import BlockExchange
import GRDB

/// Deletions by other devices that a person has confirmed.
extension IndexStore {
    /// Digests of names and versions, as the caller made them.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func confirmedDeletions(in folder: FolderID) async throws -> Set<Int64> {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT mark FROM confirmedDeletion WHERE folder = ?1")
            try select.bind(1, row.number)
            defer { select.reset() }
            var marks: Set<Int64> = []
            while try select.step() { marks.insert(select.integer(0)) }
            return marks
        }
    }

    /// Replaces all of them.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func setConfirmedDeletions(_ marks: Set<Int64>, in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            try database.execute(sql: "DELETE FROM confirmedDeletion WHERE folder = \(row.number)")
            let insert = try RawStatement(database, "INSERT INTO confirmedDeletion (folder, mark) VALUES (?1, ?2)")
            for mark in marks.sorted() {
                try insert.bind(1, row.number)
                try insert.bind(2, mark)
                try insert.run()
            }
        }
    }
}
