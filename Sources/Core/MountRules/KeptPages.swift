/// Whether the kernel may use its pages of a file on this disk again for the next who opens it. Pure.
///
/// It may when nothing of what a disk says of the file has changed since it was last opened, and what it said then could not have
/// missed a change: a disk's clock goes in steps, and two changes within one look the same. A program that changes it later has to open it
/// for writing first, or had it open then.
package struct KeptPages: Sendable {
    /// What fstat(2) says of a file; times in nanoseconds since 1970.
    package struct Stamp: Equatable, Sendable {
        package var device: UInt64
        package var inode: UInt64
        package var size: Int64
        package var modified: Int128
        package var changed: Int128

        package init(device: UInt64, inode: UInt64, size: Int64, modified: Int128, changed: Int128) {
            self.device = device
            self.inode = inode
            self.size = size
            self.modified = modified
            self.changed = changed
        }
    }

    /// More than any file system's clock takes for a step: FAT's takes two seconds.
    package static let step: Int128 = 3_000_000_000
    /// More than a disk leaves dirty pages unwritten. Until they are written, what a program stores into a mapping (mmap) that it had
    /// before changes no time; nobody has one where nobody has the file open for writing.
    package static let settled: Int128 = 90_000_000_000
    private let limit: Int
    private var stamps: [UInt64: Stamp] = [:]

    package init(limit: Int = 4096) { self.limit = limit }

    /// A program opens the file that a node shows.
    ///
    /// - Parameters:
    ///   - now: the wall clock, in nanoseconds since 1970.
    ///   - hasNoWriters: whether nobody is known to have the file open for writing; asked where that decides.
    /// - Returns: whether what was read before is what is in the file.
    package mutating func opened(_ node: UInt64, _ stamp: Stamp, at now: Int128, hasNoWriters: () -> Bool) -> Bool {
        let isKept = stamps[node] == stamp
        if !isKept {
            if stamps.count >= limit { stamps = [:] }
            let (age, overflows) = now.subtractingReportingOverflow(stamp.changed)
            let mayMissNothing = !overflows && (age > Self.settled || age > Self.step && hasNoWriters())
            stamps[node] = mayMissNothing ? stamp : nil
        }
        return isKept
    }
}
