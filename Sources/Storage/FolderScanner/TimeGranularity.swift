import FileAccess

extension FileStatus {
    /// Whether a write at or after `readingTime` could leave the file with these very times, because the clock that the
    /// disk stamps files with had not moved on.
    ///
    /// Linux stamps with the clock of its last timer tick, at most 10 ms ago; where both times have no fraction of a
    /// second, the file system counts seconds, or two as FAT does.
    func mayBeWrittenUnnoticed(at readingTime: FileTime) -> Bool {
        guard let changed else { return true }
        let isCoarse = changed.nanoseconds == 0 && modified.nanoseconds == 0
        let granularity: Int64 = isCoarse ? 2_000_000_000 : 20_000_000
        let (seconds, overflows) = readingTime.seconds.subtractingReportingOverflow(changed.seconds)
        // A time of change far ahead of the clock will not be met again by chance.
        guard !overflows, (-3...3).contains(seconds) else { return false }
        let distance = seconds * 1_000_000_000 + Int64(readingTime.nanoseconds) - Int64(changed.nanoseconds)
        return abs(distance) <= granularity
    }

    /// The same without the time of change, so that it equals nothing that a later scan sees.
    var unsettled: FileStatus {
        FileStatus(
            type: type, size: size, modified: modified, inode: inode, device: device, permissions: permissions,
            linkCount: linkCount)
    }
}
