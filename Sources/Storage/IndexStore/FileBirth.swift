import CLinux
import Glibc

/// Tells the file of the index from a copy of it that was put in its place, as out of a backup: a copy came to be later.
enum FileBirth {
    /// When the file at `path` came to be, in nanoseconds since 1970; 0 where that is not known, as where the file system does not
    /// keep it.
    static func of(_ path: String) -> Int64 {
        // Not to be read by it: to close such a descriptor would take SQLite's locks off the file.
        let descriptor = open(path, CLINUX_O_PATH | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var (seconds, nanoseconds) = (Int64(0), UInt32(0))
        guard clinux_birth_time(descriptor, &seconds, &nanoseconds) == 0 else { return 0 }
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflows ? 0 : whole &+ Int64(nanoseconds)
    }
}
