/// What a mount asks the agent. Paths are relative to the folder's root, empty for the root itself.
package enum MountRequest: Equatable, Sendable {
    /// The first message: which folder it is about, and who asks.
    case hello(version: UInt32, folder: String, MountOrigin)
    /// Names in `directory` behind `after` (nil: from the first), by their bytes.
    case list(directory: String, after: String?, limit: UInt32)
    case look(path: String)
    /// Opens a version of a file for reading, or the file on this disk that has the number `disk` (0 for none). With `onlyHere`,
    /// what is not on this disk is refused with `noData`.
    case open(path: String, version: UInt64, disk: UInt64, onlyHere: Bool, MountCaller)
    case read(handle: UInt64, offset: UInt64, count: UInt32)
    /// Has no answer: no program waits for one.
    case close(handle: UInt64)
    case space
    /// A program that makes thumbnails was refused a version of a file. Answered `done` once another thumbnail is there, or none
    /// will be.
    case thumbnail(path: String, version: UInt64)
    /// The value of `user.synctrain.` and this name.
    case attribute(path: String, name: String)
    /// The answer to this request is not wanted any more.
    case cancel(number: UInt64)
    /// Opens a file for writing, and makes it first if it is to be made. `version` and `disk` are those of the file that the
    /// program means, as of `open`, both 0 for one that it does not know; `permissions` are those of a new file.
    case openWriting(path: String, version: UInt64, disk: UInt64, MountOpening, permissions: UInt16)
    /// Changes what is on this disk; a size is given to files alone.
    case change(path: String, MountChange)
    case makeDirectory(path: String, permissions: UInt16)
    /// `target` has no NUL.
    case makeSymlink(path: String, target: [UInt8])
    /// Removes an empty directory, or else what is none, on all devices.
    case remove(path: String, isDirectory: Bool)
    /// `version` is that of the file that has the name `to`, as the program knows it; 0 for none.
    case rename(from: String, to: String, version: UInt64, keepsOther: Bool)
    /// Makes the names in a directory durable.
    case synchronize(directory: String)
    case setAttribute(path: String, name: String, value: [UInt8])
    /// Answered at once by an agent that runs, whatever else it has to do.
    case ping
    /// The last message of a mount that ends because somebody has unmounted it. It has no answer.
    case goodbye

    private enum Kind: UInt8 {
        case hello = 1, list, look, open, read, close, space, attribute, cancel
        case openWriting, change, makeDirectory, makeSymlink, remove, rename, synchronize, setAttribute
        case ping, thumbnail, goodbye
    }

    package func frame(number: UInt64) -> MountFrame {
        var writer = MountWriter()
        let kind: Kind
        switch self {
        case .hello(let version, let folder, let origin):
            kind = .hello
            writer.write(version)
            writer.write(folder)
            origin.write(to: &writer)
        case .list(let directory, let after, let limit):
            kind = .list
            writer.write(directory)
            writer.write(after ?? "")
            writer.write(limit)
        case .look(let path):
            kind = .look
            writer.write(path)
        case .open(let path, let version, let disk, let onlyHere, let caller):
            kind = .open
            writer.write(path)
            writer.write(version)
            writer.write(disk)
            writer.write(onlyHere)
            writer.write(caller.group)
            writer.write(caller.thread)
        case .read(let handle, let offset, let count):
            kind = .read
            writer.write(handle)
            writer.write(offset)
            writer.write(count)
        case .close(let handle):
            kind = .close
            writer.write(handle)
        case .space: kind = .space
        case .ping: kind = .ping
        case .thumbnail(let path, let version):
            kind = .thumbnail
            writer.write(path)
            writer.write(version)
        case .goodbye: kind = .goodbye
        case .attribute(let path, let name):
            kind = .attribute
            writer.write(path)
            writer.write(name)
        case .cancel(let number):
            kind = .cancel
            writer.write(number)
        default:
            kind = writeChange(to: &writer)
        }
        return MountFrame(kind: kind.rawValue, number: number, content: writer.bytes)
    }

    package init(_ frame: MountFrame) throws(MountProtocolError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw MountProtocolError(.unknownKind) }
        var reader = MountReader(frame.content[...])
        switch kind {
        case .hello: self = try Self.hello(&reader)
        case .list:
            let (directory, after) = (try reader.path(), try reader.text(atMost: MountLimits.nameByteCount))
            let limit: UInt32 = try reader.integer()
            self = .list(
                directory: directory, after: after.isEmpty ? nil : after,
                limit: max(1, min(limit, UInt32(MountLimits.pageCount))))
        case .look: self = .look(path: try reader.path())
        case .open:
            self = .open(
                path: try reader.path(), version: try reader.integer(), disk: try reader.integer(),
                onlyHere: try reader.flag(),
                MountCaller(group: try reader.integer(), thread: try reader.integer()))
        case .read:
            let (handle, offset): (UInt64, UInt64) = (try reader.integer(), try reader.integer())
            let count: UInt32 = try reader.integer()
            guard count <= MountLimits.readByteCount else { throw MountProtocolError(.limit) }
            self = .read(handle: handle, offset: offset, count: count)
        case .close: self = .close(handle: try reader.integer())
        case .space: self = .space
        case .ping: self = .ping
        case .thumbnail: self = .thumbnail(path: try reader.path(), version: try reader.integer())
        case .goodbye: self = .goodbye
        case .attribute: self = .attribute(path: try reader.path(), name: try reader.path())
        case .cancel: self = .cancel(number: try reader.integer())
        default: self = try Self.change(kind, &reader)
        }
        try reader.end()
    }

    /// What a mount of another version says behind its version is not read: it is answered which version is wanted.
    private static func hello(_ reader: inout MountReader) throws(MountProtocolError) -> Self {
        let (version, folder): (UInt32, String) = (try reader.integer(), try reader.path())
        guard version == MountLimits.version else {
            reader.skip()
            return .hello(version: version, folder: folder, MountOrigin())
        }
        return .hello(version: version, folder: folder, try MountOrigin(&reader))
    }

    // MARK: changes

    private func writeChange(to writer: inout MountWriter) -> Kind {
        switch self {
        case .openWriting(let path, let version, let disk, let opening, let permissions):
            writer.write(path)
            writer.write(version)
            writer.write(disk)
            writer.write(opening.rawValue)
            writer.write(permissions)
            return .openWriting
        case .change(let path, let change):
            writer.write(path)
            change.write(to: &writer)
            return .change
        case .makeDirectory(let path, let permissions):
            writer.write(path)
            writer.write(permissions)
            return .makeDirectory
        case .makeSymlink(let path, let target):
            writer.write(path)
            writer.write(target)
            return .makeSymlink
        case .remove(let path, let isDirectory):
            writer.write(path)
            writer.write(isDirectory)
            return .remove
        case .rename(let from, let to, let version, let keepsOther):
            writer.write(from)
            writer.write(to)
            writer.write(version)
            writer.write(keepsOther)
            return .rename
        case .synchronize(let directory):
            writer.write(directory)
            return .synchronize
        case .setAttribute(let path, let name, let value):
            writer.write(path)
            writer.write(name)
            writer.write(value)
            return .setAttribute
        // All others are written by `frame`.
        case .hello, .list, .look, .open, .read, .close, .space, .attribute, .cancel, .ping, .thumbnail, .goodbye:
            return .space
        }
    }

    private static func change(_ kind: Kind, _ reader: inout MountReader) throws(MountProtocolError) -> Self {
        switch kind {
        case .openWriting:
            return .openWriting(
                path: try reader.path(), version: try reader.integer(), disk: try reader.integer(),
                MountOpening(rawValue: try reader.integer()), permissions: try reader.permissions())
        case .change: return .change(path: try reader.path(), try MountChange(&reader))
        case .makeDirectory: return .makeDirectory(path: try reader.path(), permissions: try reader.permissions())
        case .makeSymlink:
            return .makeSymlink(
                path: try reader.path(), target: try reader.bytes(atMost: MountLimits.targetByteCount))
        case .remove: return .remove(path: try reader.path(), isDirectory: try reader.flag())
        case .rename:
            return .rename(
                from: try reader.path(), to: try reader.path(), version: try reader.integer(),
                keepsOther: try reader.flag())
        case .synchronize: return .synchronize(directory: try reader.path())
        case .setAttribute:
            return .setAttribute(
                path: try reader.path(), name: try reader.path(),
                value: try reader.bytes(atMost: MountLimits.attributeByteCount))
        case .hello, .list, .look, .open, .read, .close, .space, .attribute, .cancel, .ping, .thumbnail, .goodbye:
            throw MountProtocolError(.unknownKind)
        }
    }
}
