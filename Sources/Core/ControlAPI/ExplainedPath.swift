/// Why a path is kept on this device or is not.
package struct ExplainedPath: Codable, Equatable, Sendable {
    package enum Reason: String, Codable, Sendable, CaseIterable {
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
    package struct Line: Codable, Equatable, Sendable {
        package var text: String
        /// `.stignore` or the file that it includes, relative to the folder's root.
        package var file: String
        /// From 1.
        package var number: Int

        package init(text: String, file: String, number: Int) {
            self.text = text
            self.file = file
            self.number = number
        }
    }

    package var type = "explanation"
    package var schema = 1
    package var folder: String
    /// Relative to the folder's root.
    package var path: String
    package var selected: Entry.Selected
    package var reason: Reason
    package var line: Line?
    /// The path that `line` matches: this one or a directory above it.
    package var matchedPath: String?
    /// A directory that is not selected but kept, because something below it is selected.
    package var isParentOfSelected: Bool
    /// Left out by a `(?d)` line: deleted where it keeps a directory from being deleted.
    package var isDeletable: Bool
    /// Whether the global index has it now.
    package var exists: Bool

    package init(
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
