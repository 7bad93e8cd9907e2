import BlockExchange

/// What a halt over deletions holds back, beyond the end of the process that halted.
extension IndexStore {
    /// How many names of `folder` are missing and not to be deleted elsewhere before a person decides; nil without such a halt.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func heldDeletions(of folder: FolderID) async throws -> Int64? {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT heldDeletions FROM folder WHERE number = ?1")
            try select.bind(1, row.number)
            defer { select.reset() }
            return try select.step() ? select.optionalInteger(0) : nil
        }
    }

    /// Also in a task that was cancelled.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func note(heldDeletions: Int64?, of folder: FolderID) async throws {
        try await writeRegardless { database in
            let row = try Folder.find(folder, in: database)
            let update = try RawStatement(database, "UPDATE folder SET heldDeletions = ?2 WHERE number = ?1")
            try update.bind(1, row.number)
            try update.bind(2, heldDeletions)
            try update.run()
        }
    }
}
