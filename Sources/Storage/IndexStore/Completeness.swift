import BlockExchange

/// Until when everything that a folder selects was on this disk.
package struct Completeness: Equatable, Sendable {
    private var isComplete = false
    /// When something came to be missing, in seconds since 1970; nil while nothing is, and where nothing ever was complete.
    package private(set) var end: Int64?

    package init() {}

    package mutating func note(isComplete: Bool, at unixSeconds: Int64) {
        if isComplete { end = nil } else if self.isComplete { end = unixSeconds }
        self.isComplete = isComplete
    }

    /// As in the database: 0 while nothing is missing.
    fileprivate var stored: Int64? {
        get { isComplete ? 0 : end }
        set { (isComplete, end) = (newValue == 0, newValue == 0 ? nil : newValue) }
    }
}

extension IndexStore {
    /// What was noted of `folder` last; nothing for a new one.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func completeness(of folder: FolderID) async throws -> Completeness {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT completeUntil FROM folder WHERE number = ?1")
            try select.bind(1, row.number)
            defer { select.reset() }
            var completeness = Completeness()
            if try select.step() { completeness.stored = select.optionalInteger(0) }
            return completeness
        }
    }

    /// Also in a task that was cancelled.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func note(_ completeness: Completeness, of folder: FolderID) async throws {
        try await writeRegardless { database in
            let row = try Folder.find(folder, in: database)
            let update = try RawStatement(database, "UPDATE folder SET completeUntil = ?2 WHERE number = ?1")
            try update.bind(1, row.number)
            try update.bind(2, completeness.stored)
            try update.run()
        }
    }
}
