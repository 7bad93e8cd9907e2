import BlockExchange

/// Why this device does not vouch for what it has of a name; the numbers are Syncthing's. Any of them makes the
/// announcement invalid.
public struct LocalFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let unsupported = LocalFlags(rawValue: 1)
    public static let ignored = LocalFlags(rawValue: 2)
    public static let mustRescan = LocalFlags(rawValue: 4)
    /// Changed here in a folder that only receives: announced with an empty version, so that it never wins.
    public static let receiveOnlyChanged = LocalFlags(rawValue: 8)
}

/// What a file on this disk is recognised by, next to the size and mtime of its entry.
public struct FileStatus: Hashable, Sendable {
    public var inode: UInt64
    /// Time of the last status change: seconds since 1970 and nanoseconds within.
    public var changedSeconds: Int64
    public var changedNanoseconds: Int32

    public init(inode: UInt64, changedSeconds: Int64, changedNanoseconds: Int32) {
        self.inode = inode
        self.changedSeconds = changedSeconds
        self.changedNanoseconds = changedNanoseconds
    }
}

/// What this device has of a name.
public struct LocalEntry: Equatable, Sendable {
    /// Invalid if there are flags; its sequence is the one it is announced under.
    public var file: FileInfo
    public var flags: LocalFlags
    /// Nil if the name is not on this disk (a deletion, for instance).
    public var status: FileStatus?

    public init(file: FileInfo, flags: LocalFlags = [], status: FileStatus? = nil) {
        self.file = file
        self.flags = flags
        self.status = status
    }
}

extension LocalEntry {
    /// The columns of `local` that `read` takes.
    static let columns = "local.flags, local.inode, local.changed, local.changedNanoseconds"

    mutating func read(_ row: RawStatement, from first: Int32) {
        flags = LocalFlags(rawValue: UInt8(truncatingIfNeeded: row.integer(first)))
        guard let inode = row.optionalInteger(first + 1) else { return }
        status = FileStatus(
            inode: UInt64(bitPattern: inode), changedSeconds: row.integer(first + 2),
            changedNanoseconds: Int32(truncatingIfNeeded: row.integer(first + 3)))
    }
}

/// A change of what this device has.
public enum LocalChange: Sendable {
    /// The name is now as the entry says; it gets a new sequence.
    case set(LocalEntry)
    /// What is on disk is what it was, and is recognised by this from now on. Nothing is announced; of a name that is
    /// not on this disk nothing is noted.
    case note(String, FileStatus)
    /// This device has nothing of its own to say of the name any more.
    case forget(String)

    public var name: String {
        switch self {
        case .set(let entry): entry.file.name
        case .forget(let name), .note(let name, _): name
        }
    }
}

/// A block of a file on this disk.
public struct LocalBlock: Equatable, Sendable {
    public var folder: FolderID
    public var path: String
    public var offset: Int64
    public var size: Int32
    /// What the file was when its blocks were hashed; compare before and after reading.
    public var fileSize: Int64
    public var modifiedSeconds: Int64
    public var modifiedNanoseconds: Int32
    public var status: FileStatus
}
