/// What a mount says to the process that calls for programs which watch its directories: docs/decisions/mount.md, "Programs that watch a
/// directory". The answer to each but the first has the errno of the call, 0 for none.
package enum WatcherCommand: Equatable, Sendable {
    /// Where the mount is, and the word by which it proves to be this one and no other that was mounted there.
    case begin(directory: String, word: [UInt8])
    case make(MountEntry.Kind, path: String)
    /// Sets the time of change alone; of the mount's root for an empty path.
    case touch(path: String)
    case remove(isDirectory: Bool, path: String)

    package static let wordByteCount = 16
    /// Bytes of content.
    package static let limit = MountLimits.pathByteCount + 64

    private enum Kind: UInt8 { case begin = 201, make, touch, remove }

    package func frame(number: UInt64) -> MountFrame {
        var writer = MountWriter()
        let kind: Kind
        switch self {
        case .begin(let directory, let word):
            kind = .begin
            writer.write(directory)
            writer.write(word)
        case .make(let made, let path):
            kind = .make
            writer.write(made.rawValue)
            writer.write(path)
        case .touch(let path):
            kind = .touch
            writer.write(path)
        case .remove(let isDirectory, let path):
            kind = .remove
            writer.write(isDirectory)
            writer.write(path)
        }
        return MountFrame(kind: kind.rawValue, number: number, content: writer.bytes)
    }

    package init(_ frame: MountFrame) throws(MountProtocolError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw MountProtocolError(.unknownKind) }
        var reader = MountReader(frame.content[...])
        switch kind {
        case .begin: self = .begin(directory: try reader.callPath(), word: try reader.bytes(atMost: Self.wordByteCount))
        case .make:
            guard let made = MountEntry.Kind(rawValue: try reader.integer()) else {
                throw MountProtocolError(.unknownKind)
            }
            self = .make(made, path: try reader.callPath())
        case .touch: self = .touch(path: try reader.callPath())
        case .remove: self = .remove(isDirectory: try reader.flag(), path: try reader.callPath())
        }
        try reader.end()
    }
}

/// What that process answers.
package struct WatcherAnswer: Equatable, Sendable {
    package static let limit = 4
    private static let kind: UInt8 = 211

    /// 0 if the call was made.
    package var number: Int32

    package init(_ number: Int32) { self.number = number }

    package func frame(number: UInt64) -> MountFrame {
        var writer = MountWriter()
        writer.write(self.number)
        return MountFrame(kind: Self.kind, number: number, content: writer.bytes)
    }

    package init(_ frame: MountFrame) throws(MountProtocolError) {
        guard frame.kind == Self.kind else { throw MountProtocolError(.unknownKind) }
        var reader = MountReader(frame.content[...])
        number = try reader.integer()
        try reader.end()
    }
}

extension MountReader {
    /// A path that a call is made with: a byte 0 would end it there.
    fileprivate mutating func callPath() throws(MountProtocolError) -> String {
        let path = try path()
        guard !path.utf8.contains(0) else { throw MountProtocolError(.invalidText) }
        return path
    }
}
