/// Frees space by deselecting what other devices hold.
public struct SpaceRequest: Codable, Equatable, Sendable {
    /// Nil for all folders.
    public var folder: String?
    /// Bytes that are to be free on the file system that the folder is on.
    public var until: Int64
    /// Only files that nobody has used for so many seconds; nil for all.
    public var unusedFor: Int64?
    /// Only says what it would do.
    public var isDryRun: Bool

    public init(folder: String? = nil, until: Int64, unusedFor: Int64? = nil, isDryRun: Bool = false) {
        self.folder = folder
        self.until = until
        self.unusedFor = unusedFor
        self.isDryRun = isDryRun
    }

    enum CodingKeys: String, CodingKey { case folder, until, unusedFor, isDryRun = "dryRun" }
}

public struct SpaceAnswer: Codable, Equatable, Sendable {
    /// What came of it in one folder.
    public struct Folder: Codable, Equatable, Sendable {
        /// As for `deselect`; nothing changed if enough was free.
        public var outcome: SelectionOutcome
        /// Bytes that were free before.
        public var available: Int64
        /// Bytes that are missing yet; 0 if enough is free.
        public var missing: Int64

        public init(outcome: SelectionOutcome, available: Int64, missing: Int64) {
            self.outcome = outcome
            self.available = available
            self.missing = missing
        }
    }

    public var schema = 1
    public var folders: [Folder]

    public init(folders: [Folder]) { self.folders = folders }
}
