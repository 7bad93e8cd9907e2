import Arithmetic

/// Whether what is missing fits on the disk. Pure.
package enum SpaceRule {
    /// How many bytes are missing on the disk; nil if it fits.
    ///
    /// - Parameters:
    ///   - missing: bytes that are yet to be written; less than nothing counts as nothing.
    ///   - free: bytes that may be written above the folder's `minimum-free`.
    package static func short(missing: Int64, free: UInt64) -> Int64? {
        guard missing > 0 else { return nil }
        let free = Int64(clamping: free)
        // bounded: both are from zero on
        return missing > free ? missing - free : nil
    }

    /// The same for several folders that share disks, in their order: what a folder leaves is there for those behind it.
    ///
    /// - Parameter folders: the disk of each, what is missing there, and what may be written above its floor; nil for a folder
    ///   whose disk cannot be asked.
    package static func shorts(_ folders: [(disk: UInt64, missing: Int64, free: UInt64)?]) -> [Int64] {
        var taken: [UInt64: Int64] = [:]
        return folders.map { folder in
            guard let folder else { return 0 }
            let before = taken[folder.disk] ?? 0
            let free = max(0, Int64(clamping: folder.free).subtractingClamped(before))
            let missing = max(0, folder.missing)
            taken[folder.disk] = before.addingClamped(missing)
            return short(missing: missing, free: UInt64(free)) ?? 0
        }
    }
}
