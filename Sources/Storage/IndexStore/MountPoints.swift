import BlockExchange
import GRDB

/// Where in a folder other file systems were mounted when it was looked at last.
extension IndexStore {
    /// The names at which something was mounted.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func mountPoints(in folder: FolderID) async throws -> Set<String> {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT name FROM mountPoint WHERE folder = ?1")
            try select.bind(1, row.number)
            defer { select.reset() }
            var names: Set<String> = []
            while try select.step() { names.insert(select.text(0)) }
            return names
        }
    }

    /// Replaces all of them.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func setMountPoints(_ names: Set<String>, in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            try database.execute(sql: "DELETE FROM mountPoint WHERE folder = \(row.number)")
            let insert = try RawStatement(database, "INSERT INTO mountPoint (folder, name) VALUES (?1, ?2)")
            for name in names.sorted() {
                try insert.bind(1, row.number)
                try insert.bind(2, name)
                try insert.run()
            }
        }
    }
}
