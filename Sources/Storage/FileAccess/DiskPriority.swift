import CLinux

/// How urgent disk work is.
package enum DiskPriority {
    /// Runs `body` on the calling thread so that the disk serves everybody else first.
    ///
    /// - Throws: what `body` throws.
    package static func idle<Result>(_ body: () throws -> Result) rethrows -> Result {
        let usual = clinux_disk_priority()
        // Where the kernel refuses, it is done all the same.
        guard usual >= 0, clinux_set_disk_priority(CLINUX_DISK_IDLE) == 0 else { return try body() }
        defer { _ = clinux_set_disk_priority(usual) }
        return try body()
    }
}
