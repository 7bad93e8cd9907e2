import FileAccess

extension FileStatus {
    /// Whether a write at or after `readingTime` could leave the file with these very times, because the clock that the
    /// disk stamps files with had not moved on.
    ///
    /// Linux stamps with the clock of its last timer tick, at most 10 ms ago; where both times have no fraction of a
    /// second, the file system counts seconds, or two as FAT does.
    func mayBeWrittenUnnoticed(at readingTime: FileTime) -> Bool {
        guard let changed else { return true }
        return isStamped(changed, at: readingTime)
    }

    /// What the index is to note of a file that was put into its place with a time of its own at `placingTime`: the same, or
    /// `unsettled` if that time is as good as the present, so that a write right after it could leave the file with these times.
    package func settled(at placingTime: FileTime) -> FileStatus {
        mayBeWrittenUnnoticed(at: placingTime) && isStamped(modified, at: placingTime) ? unsettled : self
    }

    /// Whether the disk could stamp a write at or after `now` with this time.
    private func isStamped(_ time: FileTime, at now: FileTime) -> Bool {
        let isCoarse = (changed?.nanoseconds ?? 0) == 0 && modified.nanoseconds == 0
        let granularity: Int64 = isCoarse ? 2_000_000_000 : 20_000_000
        let (seconds, overflows) = now.seconds.subtractingReportingOverflow(time.seconds)
        // A time far ahead of the clock will not be met again by chance.
        guard !overflows, (-3...3).contains(seconds) else { return false }
        let distance = seconds * 1_000_000_000 + Int64(now.nanoseconds) - Int64(time.nanoseconds)
        return abs(distance) <= granularity
    }

    /// The same without the time of change, so that it equals nothing that a later scan sees.
    var unsettled: FileStatus {
        FileStatus(
            type: type, size: size, modified: modified, inode: inode, device: device, permissions: permissions,
            linkCount: linkCount)
    }
}
