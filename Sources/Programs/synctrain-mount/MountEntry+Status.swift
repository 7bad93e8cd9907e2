import Glibc
import MountProtocol
import MountRules

extension MountEntry {
    /// How long the kernel may use it.
    var validity: Duration { isHere ? MountDeadlines.presentValidity : MountDeadlines.absentValidity }

    /// What programs see of it.
    func status(at path: String, _ user: uid_t, _ group: gid_t) -> stat {
        var status = stat()
        status.st_ino = ino_t(NodeTable.inode(of: path))
        status.st_uid = user
        status.st_gid = group
        status.st_nlink = kind == .directory ? 2 : 1
        let type: mode_t =
            switch kind {
            case .file: Glibc.S_IFREG
            case .directory: Glibc.S_IFDIR
            case .symlink: Glibc.S_IFLNK
            }
        status.st_mode = type | mode_t(permissions)
        status.st_size = off_t(kind == .directory ? 4096 : size)
        // Never less than the size: what takes no space is taken for a hole, and copied as zeros.
        status.st_blocks = status.st_size / 512 + 1
        status.st_blksize = 128 << 10
        let time = timespec(tv_sec: Int(modifiedSeconds), tv_nsec: Int(modifiedNanoseconds))
        (status.st_mtim, status.st_ctim, status.st_atim) = (time, time, time)
        return status
    }
}
