import Glibc
import KernelFiles

/// Gives back what starting the program brought into memory.
enum StartupPages {
    /// Lets go of the pages of program and libraries that are mapped: some 25 MiB that most of an agent's life has no use
    /// for. What is run again is mapped again from the page cache, without reading the disk.
    ///
    /// Only mappings of code without a page of their own (relocated or patched) are let go, since that would be lost.
    static func release() {
        guard let maps = KernelFile.text(at: "/proc/self/smaps") else { return }
        var candidate: (start: UInt, count: Int)?
        for line in maps.split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            if let range = fields.first, range.contains("-"), fields.count >= 5 {
                candidate = nil
                let bounds = range.split(separator: "-").compactMap { UInt($0, radix: 16) }
                guard fields[1] == "r-xp", fields[4] != "0", bounds.count == 2, bounds[1] > bounds[0] else { continue }
                candidate = (bounds[0], Int(bounds[1] - bounds[0]))
            } else if line.hasPrefix("Private_Dirty:"), let found = candidate {
                candidate = nil
                guard fields.count >= 2, fields[1] == "0", let start = UnsafeMutableRawPointer(bitPattern: found.start)
                else { continue }
                // Only advice: where it is refused the pages stay.
                _ = madvise(start, found.count, MADV_DONTNEED)
            }
        }
    }
}
