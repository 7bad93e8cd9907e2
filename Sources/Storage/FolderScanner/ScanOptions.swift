import FileAccess
import Glibc

/// How a folder is scanned.
package struct ScanOptions: Sendable {
    /// Who reads and hashes.
    package enum Workers: Hashable, Sendable {
        /// The calling task itself, which blocks its thread meanwhile: for tests and simulations, which must not depend
        /// on threads of ours.
        case callingTask
        /// So many threads for hashing, and one for looking at directories, which live as long as the scan.
        case threads(Int)

        /// A thread for each processor.
        package static var perProcessor: Self { .threads(max(1, Int(sysconf(CInt(_SC_NPROCESSORS_ONLN))))) }
    }

    /// How much is handed on at once: a batch ends before it exceeds one of these, but holds one finding at least.
    package struct BatchLimits: Hashable, Sendable {
        package var findings = 1000
        package var blocks = 10_000
        /// Bytes of files that were read, so that what was found before a large file does not wait for it.
        package var bytes: Int64 = 256 << 20

        package init() {}
    }

    /// Permissions are neither compared nor a reason to report anything; where a disk keeps none, they never are.
    package var ignoresPermissions = false
    /// Which attributes are read; nil for none.
    package var attributes: AttributeReading?
    package var workers = Workers.perProcessor
    package var batch = BatchLimits()
    /// The clock of the disk's times (CLOCK_REALTIME): asked each time between a file's status and its contents.
    package var now: @Sendable () -> FileTime = ScanOptions.realTime

    package init() {}

    package static let realTime: @Sendable () -> FileTime = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(truncatingIfNeeded: time.tv_nsec))
    }
}

extension ScanOptions {
    /// Whether the permissions of what is at `path` count for nothing: as the caller wants it, or because its disk keeps none.
    func ignoresPermissions(at path: String, in root: RootDirectory) -> Bool {
        ignoresPermissions || !root.traits(at: path).keepsPermissions
    }
}
