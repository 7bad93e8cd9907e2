import BlockExchange

/// One name of a folder as the whole cluster has it.
package struct GlobalEntry: Equatable, Sendable {
    package var folder: FolderID
    /// Relative to the folder's root; empty for the root itself.
    package var path: String
    /// The winning announcement, without blocks and their hash; nil for a directory that nobody announced but that
    /// others lie below.
    package var file: FileInfo?
    /// The other devices whose valid announcement has the winner's version, in the order of their ids.
    package var holders: [DeviceID]
    /// What this device itself has, without blocks and their hash.
    package var local: LocalEntry?
    /// All that is below, itself not counted.
    package var below: Aggregate
    /// What of that this device selects: what of it the index does not announce as ignored.
    package var selected: Aggregate
    /// What of `selected` is on this disk in the winning version: as the last scan saw it, or as it was put there, verified.
    package var present: Aggregate
    /// Whether it is there for somebody and this device selects it: the entry itself, not what is below it.
    package var isSelected: Bool
    /// Whether it is also on this disk, as `present` counts it.
    package var isVerified: Bool
    /// Whether the winning version is on this disk, selected or not, as the last scan saw it or as it was put there.
    package var isHere: Bool

    package init(
        folder: FolderID, path: String, file: FileInfo?, holders: [DeviceID] = [], local: LocalEntry? = nil,
        below: Aggregate = .zero, selected: Aggregate = .zero, present: Aggregate = .zero, isSelected: Bool = false,
        isVerified: Bool = false, isHere: Bool = false
    ) {
        self.folder = folder
        self.path = path
        self.file = file
        self.holders = holders
        self.local = local
        self.below = below
        self.selected = selected
        self.present = present
        self.isSelected = isSelected
        self.isVerified = isVerified
        self.isHere = isHere
    }

    /// Whether the name is there for somebody: announced, valid and not deleted.
    package var isPresent: Bool {
        guard let file else { return false }
        return !file.isDeleted && !file.isInvalid
    }

    /// Whether it is listed as a directory: the root, announced as one, or only there because of what lies below.
    package var isDirectory: Bool {
        isPresent ? file?.kind == .directory : path.isEmpty || below != .zero
    }

    /// The last component of the path.
    package var name: Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path[...] }
        return path[path.utf8.index(after: slash)...]
    }

    /// Whether what this device has is the winning version.
    package var isLocalCurrent: Bool {
        guard let file, let local else { return false }
        return local.file.version == file.version
    }
}

/// How much a folder holds.
package struct FolderTotals: Equatable, Sendable {
    /// Of all that is in the folder for somebody.
    package var global: Aggregate
    /// Of what is on this disk.
    package var local: Aggregate

    package init(global: Aggregate = .zero, local: Aggregate = .zero) {
        self.global = global
        self.local = local
    }
}

/// What a search found.
package struct SearchResult: Equatable, Sendable {
    /// Ordered by folder and path.
    package var entries: [GlobalEntry]
    /// Whether the search ended at its limit, so that there may be more.
    package var isTruncated: Bool
    /// Whether it ended before all names were looked at that a filter may be true of.
    package var isIncomplete = false

    package init(entries: [GlobalEntry], isTruncated: Bool, isIncomplete: Bool = false) {
        self.entries = entries
        self.isTruncated = isTruncated
        self.isIncomplete = isIncomplete
    }
}
