import BlockExchange

/// Why this device does not vouch for what it has of a name; the numbers are Syncthing's. Any of them makes the
/// announcement invalid.
package struct LocalFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let unsupported = LocalFlags(rawValue: 1)
    package static let ignored = LocalFlags(rawValue: 2)
    package static let mustRescan = LocalFlags(rawValue: 4)
    /// Changed here in a folder that only receives: announced with an empty version, so that it never wins.
    package static let receiveOnlyChanged = LocalFlags(rawValue: 8)
}

/// What a file on this disk is recognised by, next to the size and mtime of its entry.
package struct FileStatus: Hashable, Sendable {
    package var inode: UInt64
    /// Time of the last status change: seconds since 1970 and nanoseconds within.
    package var changedSeconds: Int64
    package var changedNanoseconds: Int32

    package init(inode: UInt64, changedSeconds: Int64, changedNanoseconds: Int32) {
        self.inode = inode
        self.changedSeconds = changedSeconds
        self.changedNanoseconds = changedNanoseconds
    }
}

/// What this device has of a name.
package struct LocalEntry: Equatable, Sendable {
    /// Invalid if there are flags; its sequence is the one it is announced under.
    package var file: FileInfo
    package var flags: LocalFlags
    /// Nil if the name is not on this disk (a deletion, for instance).
    package var status: FileStatus?

    package init(file: FileInfo, flags: LocalFlags = [], status: FileStatus? = nil) {
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
package enum LocalChange: Sendable {
    /// The name is now as the entry says; it gets a new sequence.
    case set(LocalEntry)
    /// What is on disk is what it was, and is recognised by this from now on. Nothing is announced; of a name that is
    /// not on this disk nothing is noted.
    case note(String, FileStatus)
    /// This device has nothing of its own to say of the name any more.
    case forget(String)

    package var name: String {
        switch self {
        case .set(let entry): entry.file.name
        case .forget(let name), .note(let name, _): name
        }
    }
}

/// A block of a file on this disk.
package struct LocalBlock: Equatable, Sendable {
    package var folder: FolderID
    package var path: String
    package var offset: Int64
    package var size: Int32
    /// What the file was when its blocks were hashed; compare before and after reading.
    package var fileSize: Int64
    package var modifiedSeconds: Int64
    package var modifiedNanoseconds: Int32
    package var status: FileStatus
}
