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
        var completeness = Completeness()
        completeness.stored = try await number(.completeUntil, of: folder)
        return completeness
    }

    /// Also in a task that was cancelled.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func note(_ completeness: Completeness, of folder: FolderID) async throws {
        try await set(.completeUntil, to: completeness.stored, of: folder)
    }
}
