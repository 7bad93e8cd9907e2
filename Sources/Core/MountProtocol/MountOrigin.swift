/// Which mount asks: said once, when it connects.
package struct MountOrigin: Equatable, Sendable {
    /// Absolute; empty where it is not known.
    package var directory: String
    /// When its process began, in seconds since 1970.
    package var startedAt: UInt64
    /// Mounted so that nobody can change anything.
    package var isReadOnly: Bool

    package init(directory: String = "", startedAt: UInt64 = 0, isReadOnly: Bool = false) {
        (self.directory, self.startedAt, self.isReadOnly) = (directory, startedAt, isReadOnly)
    }

    func write(to writer: inout MountWriter) {
        writer.write(directory)
        writer.write(startedAt)
        writer.write(isReadOnly)
    }

    init(_ reader: inout MountReader) throws(MountProtocolError) {
        (directory, startedAt, isReadOnly) = (try reader.path(), try reader.integer(), try reader.flag())
    }
}

/// Which program opens a file.
package struct MountCaller: Equatable, Sendable {
    /// Its process group; 0 if it is not known.
    package var group: UInt32
    /// The thread that opens; 0 if it is not known.
    package var thread: UInt32

    package init(group: UInt32 = 0, thread: UInt32 = 0) { (self.group, self.thread) = (group, thread) }
}

/// What the agent's configuration says about mounts.
package struct MountSettings: Equatable, Sendable {
    /// Programs that read all they see, in one message.
    package static let scannerCount = 200

    /// Seconds that a read waits for its next block.
    package var patience: UInt32
    /// Bytes that one program may have downloaded in a while, where the mount was started without a limit of its own; nil for
    /// any number.
    package var readBudget: Int64?
    /// Names of programs that get nothing that is not here, beside those that are known; with `!` before it one that does.
    package var scanners: [String]

    package init(patience: UInt32 = 20, readBudget: Int64? = nil, scanners: [String] = []) {
        (self.patience, self.readBudget, self.scanners) = (patience, readBudget, scanners)
    }

    func write(to writer: inout MountWriter) {
        writer.write(patience)
        writer.write(readBudget ?? 0)
        writer.write(UInt32(clamping: scanners.count))
        for scanner in scanners { writer.write(scanner) }
    }

    init(_ reader: inout MountReader) throws(MountProtocolError) {
        patience = try reader.integer()
        let budget: Int64 = try reader.integer()
        readBudget = budget > 0 ? budget : nil
        let count: UInt32 = try reader.integer()
        guard count <= Self.scannerCount else { throw MountProtocolError(.limit) }
        scanners = []
        for _ in 0..<Int(count) { scanners.append(try reader.text(atMost: MountLimits.nameByteCount)) }
    }
}
