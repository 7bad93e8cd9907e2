/// Why the agent cannot do what a mount asks.
package enum MountFailure: UInt8, Error, CaseIterable, Sendable {
    case notFound = 1
    /// Another version has taken the place of the one that is meant.
    case stale
    /// Not on this disk, and only what is there was wanted.
    case noData
    /// No connected device has it.
    case noHolder
    /// A connected device has it and sends nothing.
    case silence
    /// A policy keeps it off the links that there are.
    case heldByPolicy
    /// Nobody has these bytes, or they cannot be read.
    case unreadable
    case notAFile
    case noSuchFolder
    case tooMany
    case wrongVersion
    case cancelled
    /// The agent does not answer.
    case noAgent
    case exists
    case notADirectory
    case isADirectory
    case notEmpty
    /// Only what is on this disk can be renamed, or get a second name.
    case absent
    /// The folder, or the mount, is not written to.
    case readOnly
    /// The name is the folder's own, or a line of `.stignore` excludes it.
    case refused
    /// The disk does not let this user.
    case noPermission
    case noSpace
    case busy
    case nameTooLong
    case tooLarge
    case notSupported
    case invalid
    /// So much would be deleted that a person has to say that it is meant.
    case massDeletion
    /// The program has downloaded as much as the mount allows.
    case overBudget
    /// `.stignore` has as many lines as it may have, so that no further name can be selected.
    case selectionFull
}

/// What becomes of changes that programs make through a mount.
package enum MountAccess: UInt8, CaseIterable, Sendable {
    case writable = 1
    case receivesOnly
    /// This device has the role `read` at all devices that it shares the folder with.
    case reader

    /// In words, for people.
    package var text: String {
        switch self {
        case .writable: "read-write"
        case .receivesOnly: "read-only because the folder only receives"
        case .reader: "read-only because other devices refuse changes of this one"
        }
    }
}

/// One name of the tree as the mount shows it.
package struct MountEntry: Equatable, Sendable {
    package enum Kind: UInt8, Sendable { case file = 1, directory, symlink }

    /// The last part of the path; empty for the root.
    package var name: String
    package var kind: Kind
    /// Names the content: differs whenever the bytes may differ. The same of a version that is here and one that is not.
    package var version: UInt64
    package var size: Int64
    package var modifiedSeconds: Int64
    /// Below 1,000,000,000.
    package var modifiedNanoseconds: UInt32
    /// The low nine bits of the mode.
    package var permissions: UInt16
    /// On this disk, whole.
    package var isHere: Bool
    /// The number of the file on this disk, the same while it is written to; 0 for what is not here.
    package var disk: UInt64
    /// What a symbolic link holds.
    package var target: [UInt8]

    package init(
        name: String, kind: Kind, version: UInt64, size: Int64, modifiedSeconds: Int64, modifiedNanoseconds: UInt32,
        permissions: UInt16, isHere: Bool, disk: UInt64 = 0, target: [UInt8] = []
    ) {
        self.disk = disk
        self.name = name
        self.kind = kind
        self.version = version
        self.size = size
        self.modifiedSeconds = modifiedSeconds
        self.modifiedNanoseconds = modifiedNanoseconds
        self.permissions = permissions
        self.isHere = isHere
        self.target = target
    }

    /// About how many bytes it takes in a message.
    package var byteCount: Int { name.utf8.count + target.count + 56 }

    fileprivate func write(to writer: inout MountWriter) {
        writer.write(name)
        writer.write(kind.rawValue)
        writer.write(version)
        writer.write(size)
        writer.write(modifiedSeconds)
        writer.write(modifiedNanoseconds)
        writer.write(permissions)
        writer.write(isHere)
        writer.write(disk)
        writer.write(target)
    }

    fileprivate init(_ reader: inout MountReader) throws(MountProtocolError) {
        name = try reader.text(atMost: MountLimits.nameByteCount)
        guard let kind = Kind(rawValue: try reader.integer()) else { throw MountProtocolError(.unknownKind) }
        self.kind = kind
        version = try reader.integer()
        size = try reader.integer()
        modifiedSeconds = try reader.integer()
        modifiedNanoseconds = try reader.integer()
        permissions = try reader.integer()
        isHere = try reader.flag()
        disk = try reader.integer()
        target = try reader.bytes(atMost: MountLimits.targetByteCount)
        guard size >= 0, modifiedNanoseconds < 1_000_000_000, permissions <= 0o777 else {
            throw MountProtocolError(.limit)
        }
    }
}

/// How much the folder holds and its disk has free, in bytes.
package struct MountSpace: Equatable, Sendable {
    package var total: UInt64
    package var free: UInt64

    package init(total: UInt64, free: UInt64) {
        self.total = total
        self.free = free
    }
}

/// What the agent says to a mount.
package enum MountAnswer: Equatable, Sendable {
    case welcome(space: MountSpace, MountAccess)
    case page([MountEntry], isLast: Bool)
    case entry(MountEntry)
    /// A descriptor of the file comes with this message.
    case opened
    /// What is not here is read by this handle.
    case openedAbsent(handle: UInt64)
    /// A descriptor of the file comes with this message; `close` the handle when nothing is written to it any more.
    ///
    /// - `directory`: when the file was made just now, what its directory's time is since.
    case openedWriting(handle: UInt64, MountEntry, directory: MountChange.Time?)
    case bytes([UInt8])
    case space(MountSpace)
    case done
    case failed(MountFailure)
    /// Said unasked: these names are other than they were.
    case changed([String])
    /// Said unasked: anything may be other than it was.
    case everythingChanged
    /// Said unasked: what becomes of changes from now on.
    case access(MountAccess)
    /// Said unasked: what the configuration says from now on.
    case settings(MountSettings)

    /// The handle that the receiver has to close.
    package var openedHandle: UInt64? {
        switch self {
        case .openedAbsent(let handle), .openedWriting(let handle, _, _): handle
        default: nil
        }
    }

    private enum Kind: UInt8 {
        case welcome = 101, page, entry, opened, openedAbsent, bytes, space, done, failed, changed, everythingChanged
        case openedWriting, access, settings
    }

    package func frame(number: UInt64) -> MountFrame {
        var writer = MountWriter()
        let kind: Kind
        switch self {
        case .welcome(let space, let access):
            kind = .welcome
            writer.write(space)
            writer.write(access.rawValue)
        case .page(let entries, let isLast):
            kind = .page
            writer.write(isLast)
            writer.write(UInt32(clamping: entries.count))
            for entry in entries { entry.write(to: &writer) }
        case .entry(let entry):
            kind = .entry
            entry.write(to: &writer)
        case .opened: kind = .opened
        case .openedAbsent(let handle):
            kind = .openedAbsent
            writer.write(handle)
        case .openedWriting(let handle, let entry, let directory):
            kind = .openedWriting
            writer.write(handle)
            entry.write(to: &writer)
            writer.write(directory != nil)
            directory?.write(to: &writer)
        case .bytes(let bytes):
            kind = .bytes
            return MountFrame(kind: kind.rawValue, number: number, content: bytes)
        case .space(let space):
            kind = .space
            writer.write(space)
        case .done: kind = .done
        case .failed(let failure):
            kind = .failed
            writer.write(failure.rawValue)
        case .changed(let paths):
            kind = .changed
            writer.write(UInt32(clamping: paths.count))
            for path in paths { writer.write(path) }
        case .everythingChanged: kind = .everythingChanged
        case .access(let access):
            kind = .access
            writer.write(access.rawValue)
        case .settings(let settings):
            kind = .settings
            settings.write(to: &writer)
        }
        return MountFrame(kind: kind.rawValue, number: number, content: writer.bytes)
    }

    package init(_ frame: MountFrame) throws(MountProtocolError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw MountProtocolError(.unknownKind) }
        var reader = MountReader(frame.content[...])
        switch kind {
        case .welcome: self = .welcome(space: try reader.space(), try reader.access())
        case .page:
            let isLast = try reader.flag()
            let count: UInt32 = try reader.integer()
            guard count <= MountLimits.pageCount else { throw MountProtocolError(.limit) }
            var entries: [MountEntry] = []
            for _ in 0..<Int(count) { entries.append(try MountEntry(&reader)) }
            self = .page(entries, isLast: isLast)
        case .entry: self = .entry(try MountEntry(&reader))
        case .opened: self = .opened
        case .openedAbsent: self = .openedAbsent(handle: try reader.integer())
        case .openedWriting:
            let (handle, entry): (UInt64, MountEntry) = (try reader.integer(), try MountEntry(&reader))
            self = .openedWriting(
                handle: handle, entry, directory: try reader.flag() ? try MountChange.Time(&reader) : nil)
        case .bytes:
            guard frame.content.count <= MountLimits.readByteCount else { throw MountProtocolError(.limit) }
            self = .bytes(frame.content)
            return
        case .space: self = .space(try reader.space())
        case .done: self = .done
        case .failed:
            guard let failure = MountFailure(rawValue: try reader.integer()) else {
                throw MountProtocolError(.unknownKind)
            }
            self = .failed(failure)
        case .changed:
            let count: UInt32 = try reader.integer()
            guard count <= MountLimits.changeCount else { throw MountProtocolError(.limit) }
            var paths: [String] = []
            for _ in 0..<Int(count) { paths.append(try reader.path()) }
            self = .changed(paths)
        case .everythingChanged: self = .everythingChanged
        case .access: self = .access(try reader.access())
        case .settings: self = .settings(try MountSettings(&reader))
        }
        try reader.end()
    }
}

extension MountWriter {
    fileprivate mutating func write(_ space: MountSpace) {
        write(space.total)
        write(space.free)
    }
}

extension MountReader {
    fileprivate mutating func space() throws(MountProtocolError) -> MountSpace {
        MountSpace(total: try integer(), free: try integer())
    }

    fileprivate mutating func access() throws(MountProtocolError) -> MountAccess {
        guard let access = MountAccess(rawValue: try integer()) else { throw MountProtocolError(.unknownKind) }
        return access
    }
}
