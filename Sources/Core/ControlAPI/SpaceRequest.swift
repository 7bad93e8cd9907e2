/// Frees space by deselecting what other devices hold.
package struct SpaceRequest: Codable, Equatable, Sendable {
    /// Nil for all folders.
    package var folder: String?
    /// Bytes that are to be free on the file system that the folder is on.
    package var until: Int64
    /// Only files that nobody has used for so many seconds; nil for all.
    package var unusedFor: Int64?
    /// Only says what it would do.
    package var isDryRun: Bool

    package init(folder: String? = nil, until: Int64, unusedFor: Int64? = nil, isDryRun: Bool = false) {
        self.folder = folder
        self.until = until
        self.unusedFor = unusedFor
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case folder, until, unusedFor, isDryRun = "dryRun" }
}

package struct SpaceAnswer: Codable, Equatable, Sendable {
    /// What came of it in one folder.
    package struct Folder: Codable, Equatable, Sendable {
        /// As for `deselect`; nothing changed if enough was free.
        package var outcome: SelectionOutcome
        /// Bytes that were free before.
        package var available: Int64
        /// Bytes that are missing yet; 0 if enough is free.
        package var missing: Int64

        package init(outcome: SelectionOutcome, available: Int64, missing: Int64) {
            self.outcome = outcome
            self.available = available
            self.missing = missing
        }
    }

    package var schema = 1
    package var folders: [Folder]

    package init(folders: [Folder]) { self.folders = folders }
}
