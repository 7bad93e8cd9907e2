import Arithmetic
import Glibc

/// A file's time of modification: seconds since 1970 and the nanoseconds after.
package struct FileTime: Hashable, Comparable, Sendable {
    package let seconds: Int64
    /// 0 to 999,999,999.
    package let nanoseconds: Int32

    /// Nanoseconds that no clock shows, as a peer may send them, are taken for the nearest that one does.
    package init(seconds: Int64, nanoseconds: Int32 = 0) {
        self.seconds = seconds
        self.nanoseconds = min(max(nanoseconds, 0), 999_999_999)
    }

    init(_ time: timespec) {
        self.init(seconds: Int64(time.tv_sec), nanoseconds: Int32(truncatingIfNeeded: time.tv_nsec))
    }

    /// Whether a disk that was told `self` may show `shown`: FAT keeps every other second, others whole ones, exFAT and NTFS parts of
    /// them, always the earlier; FAT and exFAT the first or the last time that they have in place of one beyond it, and so do ext4
    /// and XFS.
    ///
    /// - Parameter changed: the time of change beside it: a disk that keeps that more exactly than `shown` keeps both so. Nil where it
    ///   is not known, or where the bytes are known to be the same: shortly after a rename, FUSE shows a time that no disk keeps.
    package func isKept(as shown: FileTime, beside changed: FileTime?) -> Bool {
        if self == shown { return true }
        if shown.nanoseconds == 0, TimesOfLinux.isOutside(seconds, shownAs: shown.seconds) { return true }
        let rest = changed?.nanoseconds ?? 0
        guard seconds == shown.seconds else {
            guard shown.nanoseconds == 0, rest % 10_000_000 == 0 else { return false }
            let (later, overflows) = shown.seconds.addingReportingOverflow(1)
            return !overflows && seconds == later && shown.seconds.isMultiple(of: 2)
                || TimesOfFAT.isOutside(seconds, shownAs: shown.seconds)
        }
        // FAT keeps when a file was made to the hundredth of a second.
        return [1_000_000_000, 10_000_000, 1_000_000, 1000, 100].contains { step in
            nanoseconds / step * step == shown.nanoseconds && rest % min(step, 10_000_000) == 0
        }
    }

    /// Both times as `futimens` takes them: the time of reading that `status` has, and `self` as that of modification.
    ///
    /// Not `UTIME_OMIT`: what is built on libfuse 2, such as `mount.exfat-fuse`, reports success and sets nothing.
    func toSet(beside status: stat) -> [timespec] {
        [status.st_atim, timespec(tv_sec: time_t(seconds), tv_nsec: Int(nanoseconds))]
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

package enum FileType: String, Sendable, CaseIterable {
    case regular
    case directory
    case symlink
    /// A pipe, socket or device: never synced.
    case other

    init(mode: mode_t) {
        switch mode & S_IFMT {
        case S_IFREG: self = .regular
        case S_IFDIR: self = .directory
        case S_IFLNK: self = .symlink
        default: self = .other
        }
    }
}

/// What the disk says about a file, directory or symbolic link itself.
package struct FileStatus: Hashable, Sendable {
    package let type: FileType
    /// In bytes; of a symbolic link, the length of its target.
    package let size: Int64
    package let modified: FileTime
    /// The file's number on its disk; 0 if not known, which the disk itself never says.
    package let inode: UInt64
    package let device: UInt64
    /// The low twelve bits of the mode.
    package let permissions: UInt32
    package let linkCount: UInt64
    /// When contents, permissions, owner or names last changed, by the disk's clock, which no program can set back;
    /// nil if not known, which the disk itself never says.
    package let changed: FileTime?

    /// A status as it was written down earlier; what was not written down may be left out.
    package init(
        type: FileType, size: Int64, modified: FileTime, inode: UInt64 = 0, device: UInt64 = 0, permissions: UInt32 = 0,
        linkCount: UInt64 = 1, changed: FileTime? = nil
    ) {
        self.type = type
        self.size = size
        self.modified = modified
        self.inode = inode
        self.device = device
        self.permissions = permissions
        self.linkCount = linkCount
        self.changed = changed
    }

    init(_ status: stat) {
        self.init(
            type: FileType(mode: status.st_mode), size: Int64(status.st_size),
            modified: FileTime(status.st_mtim), inode: UInt64(status.st_ino), device: UInt64(status.st_dev),
            permissions: UInt32(status.st_mode & 0o7777),
            linkCount: UInt64(status.st_nlink), changed: FileTime(status.st_ctim))
    }

    /// Whether nothing shows that the file was touched between the two: same type, size, time of modification, inode and, where
    /// both have one, time of change: an edit that restores size and time of modification shows in that. A directory's size and
    /// times say nothing about itself and do not count; nor does an inode of 0. A symbolic link cannot be changed, only replaced,
    /// and its time of modification is not synced.
    package func isUnchanged(since earlier: FileStatus) -> Bool {
        guard type == earlier.type, inode == earlier.inode || inode == 0 || earlier.inode == 0 else { return false }
        let hasChanged = changed.flatMap { now in earlier.changed.map { now != $0 } } ?? false
        switch type {
        case .directory: return true
        case .symlink: return size == earlier.size && !hasChanged
        case .regular, .other:
            return size == earlier.size && earlier.modified.isKept(as: modified, beside: changed) && !hasChanged
        }
    }

    /// The same for comparing with what was given another name since, which the disk counts as a change.
    package var beforeRenaming: FileStatus { withoutChange }

    /// The same without `changed`.
    var withoutChange: FileStatus {
        FileStatus(
            type: type, size: size, modified: modified, inode: inode, device: device, permissions: permissions,
            linkCount: linkCount)
    }

    /// Whether both are the same file of the same disk, whatever its contents.
    package func isSameFile(as other: FileStatus) -> Bool { inode == other.inode && device == other.device }
}

/// What must be at a name for something else to take its place.
package enum Replacement: Hashable, Sendable {
    /// Nothing may be there; else throws `exists`.
    case nothing
    /// Whatever is there is replaced, if it is not a directory.
    case anything
    /// Only what was seen earlier is replaced; if that was changed, replaced or removed, throws `changedOnDisk`.
    case exactly(FileStatus)
}

/// When a change is to survive a loss of power.
package enum Durability: Sendable {
    /// Before the call returns.
    case immediate
    /// When the caller has called `RootDirectory.synchronizeFileSystem()`, once for many changes.
    case deferred
}

/// How much a disk holds, in bytes.
package struct FreeSpace: Hashable, Sendable {
    /// What this user may still write.
    package let available: UInt64
    package let total: UInt64

    init(_ status: statvfs) {
        func bytes(_ blocks: fsblkcnt_t) -> UInt64 {
            let (bytes, overflows) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            return overflows ? .max : bytes
        }
        available = bytes(status.f_bavail)
        total = bytes(status.f_blocks)
    }

    /// The disk of a path that is in no folder yet; nil if there is no such path.
    package init?(at path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
