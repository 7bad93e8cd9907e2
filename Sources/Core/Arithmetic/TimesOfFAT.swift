/// FAT and exFAT have no times before 1980 or after 2107. A disk that is told such a time keeps the first or the last that it has.
package enum TimesOfFAT {
    /// 1980-01-01 00:00:00 and 2107-12-31 23:59:58, as seconds since 1970, in the zone of the disk.
    private static let (first, last): (Int64, Int64) = (315_532_800, 4_354_819_198)

    /// Whether such a disk may show `shown` for a file that it was told `told` of, since it has no such time. Both are whole seconds
    /// since 1970; a zone differs from UTC by quarters of an hour, up to 14 hours.
    package static func isOutside(_ told: Int64, shownAs shown: Int64) -> Bool {
        told < shown && isEnd(shown, first) || told > shown && isEnd(shown, last)
    }

    private static func isEnd(_ shown: Int64, _ end: Int64) -> Bool {
        let offset = shown.subtractingClamped(end)
        let quarter: Int64 = 900
        guard (-14 * 3600...14 * 3600 + 1).contains(offset) else { return false }
        // exFAT ends a second later than FAT.
        return offset.isMultiple(of: quarter) || end == last && (offset &- 1).isMultiple(of: quarter)
    }
}
