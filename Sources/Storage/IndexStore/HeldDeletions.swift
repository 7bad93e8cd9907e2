import BlockExchange

/// What a halt over deletions holds back, beyond the end of the process that halted.
extension IndexStore {
    /// How many names of `folder` are missing and not to be deleted elsewhere before a person decides; nil without a halt over deletions.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func heldDeletions(of folder: FolderID) async throws -> Int64? {
        try await number(.heldDeletions, of: folder)
    }

    /// Also in a task that was cancelled.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func note(heldDeletions: Int64?, of folder: FolderID) async throws {
        try await set(.heldDeletions, to: heldDeletions, of: folder)
    }
}
