/// Disks of Linux count the seconds of a time in as many bits as they have for it. In place of a time beyond those the kernel keeps the
/// first or the last that the disk has, without a fraction: files of Windows without a time are of 1601, and ext4 begins in 1901.
package enum TimesOfLinux {
    /// As seconds since 1970: of ext2 to ext4 and XFS, 1901-12-13.
    private static let first: Int64 = -2_147_483_648
    /// Of ext2, ext3 and XFS without `bigtime`, 2038-01-19; of ext4, 2446-05-10; of XFS, 2486-07-02.
    private static let last: Set<Int64> = [2_147_483_647, 15_032_385_535, 16_299_260_424]

    /// Whether such a disk may show `shown` for a file that it was told `told` of, since it has no such time. Both are whole seconds
    /// since 1970.
    package static func isOutside(_ told: Int64, shownAs shown: Int64) -> Bool {
        told < shown && shown == first || told > shown && last.contains(shown)
    }
}
