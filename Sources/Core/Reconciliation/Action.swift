import BlockExchange

/// What of a file's metadata is to be changed on disk.
package struct MetadataChange: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let permissions = MetadataChange(rawValue: 1)
    package static let modificationTime = MetadataChange(rawValue: 2)
    /// Extended attributes, owner or group.
    package static let attributes = MetadataChange(rawValue: 4)
}

/// What the plan saw in the place that it wants to fill. Whoever acts checks that it is still so, else nothing is done
/// and the name is scanned again.
package enum Occupant: Equatable, Sendable {
    case nothing
    /// An older version: it may go (to the archive, if there is one). A directory must be empty by then.
    case replaced(LocalVersion)
    /// A version that the new one has not seen: it is renamed to its `ConflictName` first.
    case conflicting(LocalVersion)

    package var local: LocalVersion? {
        switch self {
        case .nothing: nil
        case .replaced(let local), .conflicting(let local): local
        }
    }
}

/// Why nothing can be done about a name.
package enum Obstacle: Hashable, Sendable {
    /// The disk may hold something else than the index says: it is scanned first.
    case mustRescan
    /// Something that cannot be synchronised is in the place.
    case unsupported
    /// The directory that would have to give way holds something that is needed.
    case directoryNotEmpty
    /// What would have to be its directory is to be something else.
    case parentNotDirectory
    /// Nothing can be done about this other file of its group.
    case groupMember(String)
}

/// What to do about one name.
package enum Action: Equatable, Sendable {
    case nothing
    case blocked(Obstacle)
    /// Nothing changes on disk; the name is remembered and announced so.
    case record(LocalVersion)
    /// This device has nothing of its own to say of the name any more.
    case forget(String)
    /// What is here has the content of the global version, and takes over its metadata and version.
    case adopt(FileInfo, over: LocalVersion, changing: MetadataChange)
    case fetch(FileInfo, replacing: Occupant)
    case makeDirectory(FileInfo, replacing: Occupant)
    case makeSymlink(FileInfo, replacing: Occupant)
    /// The file on disk `from` takes the place of `to`, whose content it has; `tombstone` is what remains of its old
    /// name. Only plans have it.
    case rename(from: LocalVersion, tombstone: FileInfo, to: FileInfo, replacing: Occupant)
    /// What is here goes; `tombstone` remains of it, or nothing if it is nil. With `keepsCopy` a file becomes a conflict
    /// copy. For a directory see `DirectoryRemoval`.
    case delete(LocalVersion, tombstone: FileInfo?, keepsCopy: Bool)

    /// What the index says once the action is done, in the order in which it is announced; empty where it says nothing
    /// new or forgets.
    package var outcome: [LocalVersion] {
        switch self {
        case .nothing, .blocked, .forget: []
        case .record(let version): [version]
        case .adopt(let file, _, _), .fetch(let file, _), .makeDirectory(let file, _), .makeSymlink(let file, _):
            [.current(file)]
        case .rename(_, let tombstone, let file, _): [.current(file), .current(tombstone)]
        case .delete(_, let tombstone, _): tombstone.map { [.current($0)] } ?? []
        }
    }

    /// The name it fills or empties; nil for one that does neither.
    package var name: String? {
        switch self {
        case .nothing, .blocked: nil
        case .record(let version): version.file.name
        case .forget(let name): name
        case .adopt(let file, _, _), .fetch(let file, _), .makeDirectory(let file, _), .makeSymlink(let file, _),
            .rename(_, _, let file, _):
            file.name
        case .delete(let local, _, _): local.file.name
        }
    }

    /// What is in the place that it fills.
    var occupant: Occupant? {
        switch self {
        case .fetch(_, let occupant), .makeDirectory(_, let occupant), .makeSymlink(_, let occupant),
            .rename(_, _, _, let occupant):
            occupant
        case .nothing, .blocked, .record, .forget, .adopt, .delete: nil
        }
    }

    /// Whether it changes a file of a group: that is done together with the others of the group.
    var isGroupChange: Bool {
        switch self {
        case .fetch(_, let occupant): occupant.local?.file.kind != .directory
        case .delete(let local, _, _): local.file.kind == .file
        case .nothing, .blocked, .record, .forget, .adopt, .makeDirectory, .makeSymlink, .rename: false
        }
    }

    /// Whether something is there under the name afterwards.
    var leavesSomething: Bool {
        switch self {
        case .fetch, .makeDirectory, .makeSymlink, .rename, .adopt: true
        case .record(let version): version.isLive && !version.flags.contains(.ignored)
        case .nothing, .blocked, .forget, .delete: false
        }
    }
}
