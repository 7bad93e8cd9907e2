/// Why a path is kept on this device or is not.
public struct ExplainedPath: Codable, Equatable, Sendable {
    public enum Reason: String, Codable, Sendable, CaseIterable {
        /// `line` is the first that matches.
        case line
        /// No line matches, so it is kept.
        case noLine = "no-line"
        /// The folder's root.
        case root
        /// `.stfolder`, `.stignore`, `.stversions` and what is in them are never synced.
        case internalName = "internal-name"
        /// The name of a file that is still being written.
        case temporaryName = "temporary-name"
    }

    /// A line of an ignore file.
    public struct Line: Codable, Equatable, Sendable {
        public var text: String
        /// `.stignore` or the file that it includes, relative to the folder's root.
        public var file: String
        /// From 1.
        public var number: Int

        public init(text: String, file: String, number: Int) {
            self.text = text
            self.file = file
            self.number = number
        }
    }

    public var type = "explanation"
    public var schema = 1
    public var folder: String
    /// Relative to the folder's root.
    public var path: String
    public var selected: Entry.Selected
    public var reason: Reason
    public var line: Line?
    /// The path that `line` matches: this one or a directory above it.
    public var matchedPath: String?
    /// A directory that is not selected but kept, because something below it is selected.
    public var isParentOfSelected: Bool
    /// Left out by a `(?d)` line: deleted where it keeps a directory from being deleted.
    public var isDeletable: Bool
    /// Whether the global index has it now.
    public var exists: Bool

    public init(
        folder: String, path: String, selected: Entry.Selected, reason: Reason, line: Line? = nil,
        matchedPath: String? = nil, isParentOfSelected: Bool = false, isDeletable: Bool = false, exists: Bool
    ) {
        self.folder = folder
        self.path = path
        self.selected = selected
        self.reason = reason
        self.line = line
        self.matchedPath = matchedPath
        self.isParentOfSelected = isParentOfSelected
        self.isDeletable = isDeletable
        self.exists = exists
    }

    enum CodingKeys: String, CodingKey {
        case type, schema, folder, path, selected, reason, line, matchedPath, isParentOfSelected = "parentOfSelected"
        case isDeletable = "deletable", exists
    }
}
