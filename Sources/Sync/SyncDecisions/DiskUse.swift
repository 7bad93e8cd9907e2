import Arithmetic
import ControlAPI

/// What folders and the cache take of the disks that they are on. Pure.
package enum DiskUse {
    /// A disk as it answers when it is asked: its number, its size, and what may still be written, in bytes.
    package struct Disk: Equatable, Sendable {
        package var number: UInt64
        package var total: UInt64
        package var free: UInt64

        package init(number: UInt64, total: UInt64, free: UInt64) {
            self.number = number
            self.total = total
            self.free = free
        }
    }

    /// A folder on a disk. Sizes are in bytes.
    package struct Folder: Sendable {
        package var id: String
        package var disk: Disk
        /// What may be written above its `minimum-free`.
        package var freeAboveFloor: UInt64
        package var here: Int64
        package var selected: Int64
        package var present: Int64

        package init(
            id: String, disk: Disk, freeAboveFloor: UInt64, here: Int64 = 0, selected: Int64 = 0, present: Int64 = 0
        ) {
            self.id = id
            self.disk = disk
            self.freeAboveFloor = freeAboveFloor
            self.here = here
            self.selected = selected
            self.present = present
        }
    }

    /// - Parameter cache: the disk of the cache, and what it takes of it.
    package static func report(_ folders: [Folder], cache: (disk: Disk, bytes: Int64)?) -> SpaceReport {
        var disks: [SpaceReport.Disk] = []
        var places: [UInt64: Int] = [:]
        func place(of disk: Disk) -> Int {
            if let place = places[disk.number] { return place }
            places[disk.number] = disks.count
            disks.append(SpaceReport.Disk(total: Int64(clamping: disk.total), free: Int64(clamping: disk.free)))
            return disks.count - 1
        }
        let shorts = SpaceRule.shorts(
            folders.map { ($0.disk.number, $0.selected.subtractingClamped($0.present), $0.freeAboveFloor) })
        for (folder, short) in zip(folders, shorts) {
            let at = place(of: folder.disk)
            disks[at].folders.append(folder.id)
            disks[at].here.addClamped(max(0, folder.here))
            disks[at].selected.addClamped(max(0, folder.selected))
            disks[at].present.addClamped(max(0, min(folder.present, folder.selected)))
            disks[at].short.addClamped(short)
        }
        if let (disk, bytes) = cache { disks[place(of: disk)].cache = max(0, bytes) }
        return SpaceReport(disks: disks)
    }
}
