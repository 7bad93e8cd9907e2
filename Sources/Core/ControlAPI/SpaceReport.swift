/// How full the disks are that folders and the cache are on.
package struct SpaceReport: Codable, Equatable, Sendable {
    /// A file system. Sizes are in bytes.
    package struct Disk: Codable, Equatable, Sendable {
        /// Ids of the folders on it, in the order of `status`; none on a disk that has only the cache.
        package var folders: [String]
        package var total: Int64
        /// What the agent's user may still write.
        package var free: Int64
        /// What of the folders is on it by the last scan, selected or not.
        package var here: Int64
        /// What of the folders is selected.
        package var selected: Int64
        /// Of what is selected, what is here in its newest version, verified, with what has come of files that are being downloaded.
        package var present: Int64
        /// What is missing for the rest above the folders' `minimum-free`; 0 if it fits.
        package var short: Int64
        /// What the cache takes of it.
        package var cache: Int64

        package init(
            folders: [String] = [], total: Int64, free: Int64, here: Int64 = 0, selected: Int64 = 0, present: Int64 = 0,
            short: Int64 = 0, cache: Int64 = 0
        ) {
            self.folders = folders
            self.total = total
            self.free = free
            self.here = here
            self.selected = selected
            self.present = present
            self.short = short
            self.cache = cache
        }
    }

    package var schema = 1
    /// Those with folders first, in the order of their first folders. A folder whose disk cannot be asked is missing.
    package var disks: [Disk]

    package init(disks: [Disk]) { self.disks = disks }
}
