import BlockExchange

/// A number that is kept with a folder, beyond the end of this process.
enum FolderNumber: String {
    case completeUntil
    case heldDeletions
}

extension IndexStore {
    /// Nil if there is none.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    func number(_ column: FolderNumber, of folder: FolderID) async throws -> Int64? {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT \(column.rawValue) FROM folder WHERE number = ?1")
            try select.bind(1, row.number)
            defer { select.reset() }
            return try select.step() ? select.optionalInteger(0) : nil
        }
    }

    /// Also in a task that was cancelled.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    func set(_ column: FolderNumber, to value: Int64?, of folder: FolderID) async throws {
        try await writeRegardless { database in
            let row = try Folder.find(folder, in: database)
            let update = try RawStatement(
                database, "UPDATE folder SET \(column.rawValue) = ?2 WHERE number = ?1")
            try update.bind(1, row.number)
            try update.bind(2, value)
            try update.run()
        }
    }
}
