/// What an ignore file says about one path.
public struct Decision: Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
        /// The pattern at this index of `Selection.patterns` is the first that matches.
        case pattern(Int)
        /// No pattern matches, so the path is included.
        case noPattern
        /// The folder's root, which is always included.
        case root
        /// `.stfolder`, `.stignore` or `.stversions` at the folder's root, or something in it: always ignored.
        case internalName
        /// The name of a file that is still being written (`.syncthing.…`, `~syncthing~…`): always ignored.
        case temporaryName
    }

    public let isIgnored: Bool
    /// Whether the path is ignored by a `(?d)` line, so that it may be deleted to let go of its directory.
    public let isDeletable: Bool
    public let reason: Reason

    /// The index in `Selection.patterns` of the pattern that decides, if one does.
    public var patternIndex: Int? {
        if case .pattern(let index) = reason { index } else { nil }
    }
}

/// How a path comes to be kept on this device.
public enum SelectedState: String, Hashable, Sendable {
    /// A `!/path` line names the path itself.
    case explicit
    /// A line names a directory above it, or nothing ignores it.
    case implicit
    /// The path is ignored.
    case no
}

/// Which line decides about a path, and how the path and the line come together.
public struct Explanation: Hashable, Sendable {
    public let path: String
    public let decision: Decision
    public let selected: SelectedState
    /// The line that decides, with its file and number; nil if none does.
    public let pattern: IgnorePattern?
    /// The topmost path, of this one and the directories above it, that the line matches; nil if no line decides.
    ///
    /// Shorter than `path` if the line matches by taking in what is below a directory.
    public let matchedPath: String?
    /// Whether the path is a directory on the way to something selected by name; see
    /// `Selection.isParentOfSelected(_:)`.
    public let isParentOfSelected: Bool
}
