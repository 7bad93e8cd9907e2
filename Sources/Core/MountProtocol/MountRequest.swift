/// What a mount asks the agent. Paths are relative to the folder's root, empty for the root itself.
package enum MountRequest: Equatable, Sendable {
    /// The first message: which folder it is about.
    case hello(version: UInt32, folder: String)
    /// Names in `directory` behind `after` (nil: from the first), by their bytes.
    case list(directory: String, after: String?, limit: UInt32)
    case look(path: String)
    /// Opens a version of a file for reading. With `onlyHere`, what is not on this disk is refused with `noData`.
    case open(path: String, version: UInt64, onlyHere: Bool)
    case read(handle: UInt64, offset: UInt64, count: UInt32)
    case close(handle: UInt64)
    case space
    /// The value of `user.synctrain.` and this name.
    case attribute(path: String, name: String)
    /// The answer to this request is not wanted any more.
    case cancel(number: UInt64)

    private enum Kind: UInt8 { case hello = 1, list, look, open, read, close, space, attribute, cancel }

    package func frame(number: UInt64) -> MountFrame {
        var writer = MountWriter()
        let kind: Kind
        switch self {
        case .hello(let version, let folder):
            kind = .hello
            writer.write(version)
            writer.write(folder)
        case .list(let directory, let after, let limit):
            kind = .list
            writer.write(directory)
            writer.write(after ?? "")
            writer.write(limit)
        case .look(let path):
            kind = .look
            writer.write(path)
        case .open(let path, let version, let onlyHere):
            kind = .open
            writer.write(path)
            writer.write(version)
            writer.write(onlyHere)
        case .read(let handle, let offset, let count):
            kind = .read
            writer.write(handle)
            writer.write(offset)
            writer.write(count)
        case .close(let handle):
            kind = .close
            writer.write(handle)
        case .space: kind = .space
        case .attribute(let path, let name):
            kind = .attribute
            writer.write(path)
            writer.write(name)
        case .cancel(let number):
            kind = .cancel
            writer.write(number)
        }
        return MountFrame(kind: kind.rawValue, number: number, content: writer.bytes)
    }

    package init(_ frame: MountFrame) throws(MountProtocolError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw MountProtocolError(.unknownKind) }
        var reader = MountReader(frame.content[...])
        switch kind {
        case .hello: self = .hello(version: try reader.integer(), folder: try reader.path())
        case .list:
            let (directory, after) = (try reader.path(), try reader.text(atMost: MountLimits.nameByteCount))
            let limit: UInt32 = try reader.integer()
            self = .list(
                directory: directory, after: after.isEmpty ? nil : after,
                limit: max(1, min(limit, UInt32(MountLimits.pageCount))))
        case .look: self = .look(path: try reader.path())
        case .open: self = .open(path: try reader.path(), version: try reader.integer(), onlyHere: try reader.flag())
        case .read:
            let (handle, offset): (UInt64, UInt64) = (try reader.integer(), try reader.integer())
            let count: UInt32 = try reader.integer()
            guard count <= MountLimits.readByteCount else { throw MountProtocolError(.limit) }
            self = .read(handle: handle, offset: offset, count: count)
        case .close: self = .close(handle: try reader.integer())
        case .space: self = .space
        case .attribute: self = .attribute(path: try reader.path(), name: try reader.path())
        case .cancel: self = .cancel(number: try reader.integer())
        }
        try reader.end()
    }
}
