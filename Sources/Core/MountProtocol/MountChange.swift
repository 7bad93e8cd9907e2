/// How a file is opened for writing.
package struct MountOpening: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A file that is not there is made.
    package static let creates = MountOpening(rawValue: 1)
    /// A file that is there is refused with `exists`.
    package static let isExclusive = MountOpening(rawValue: 2)
    /// What the file holds goes.
    package static let truncates = MountOpening(rawValue: 4)
    /// The mount knows from a list that is not older than a second that nobody has the name.
    package static let isNew = MountOpening(rawValue: 8)
}

/// What is to be changed of a file or directory; what is nil stays.
package struct MountChange: Equatable, Sendable {
    package struct Time: Equatable, Sendable {
        package var seconds: Int64
        /// Below 1,000,000,000.
        package var nanoseconds: UInt32

        package init(seconds: Int64, nanoseconds: UInt32) {
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }

        func write(to writer: inout MountWriter) {
            writer.write(seconds)
            writer.write(nanoseconds)
        }

        init(_ reader: inout MountReader) throws(MountProtocolError) {
            (seconds, nanoseconds) = (try reader.integer(), try reader.integer())
            guard nanoseconds < 1_000_000_000 else { throw MountProtocolError(.limit) }
        }
    }

    /// Bytes, from 0 on.
    package var size: Int64?
    /// The low nine bits of the mode.
    package var permissions: UInt16?
    package var modified: Time?

    package init(size: Int64? = nil, permissions: UInt16? = nil, modified: Time? = nil) {
        self.size = size
        self.permissions = permissions
        self.modified = modified
    }

    func write(to writer: inout MountWriter) {
        writer.write(size != nil)
        writer.write(size ?? 0)
        writer.write(permissions != nil)
        writer.write(permissions ?? 0)
        writer.write(modified != nil)
        (modified ?? Time(seconds: 0, nanoseconds: 0)).write(to: &writer)
    }

    init(_ reader: inout MountReader) throws(MountProtocolError) {
        let (hasSize, size): (Bool, Int64) = (try reader.flag(), try reader.integer())
        guard size >= 0 else { throw MountProtocolError(.limit) }
        self.size = hasSize ? size : nil
        let (hasPermissions, permissions) = (try reader.flag(), try reader.permissions())
        self.permissions = hasPermissions ? permissions : nil
        let hasTime = try reader.flag()
        let time = try Time(&reader)
        modified = hasTime ? time : nil
    }
}

extension MountReader {
    mutating func permissions() throws(MountProtocolError) -> UInt16 {
        let permissions: UInt16 = try integer()
        guard permissions <= 0o777 else { throw MountProtocolError(.limit) }
        return permissions
    }
}
