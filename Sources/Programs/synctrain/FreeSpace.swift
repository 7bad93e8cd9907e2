import Glibc

/// What is free on a disk.
enum FreeSpace {
    /// Bytes that this user may still write on the disk of `path`; nil if there is no such path.
    static func bytes(at path: String) -> Int64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }
}
