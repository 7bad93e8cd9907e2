import Glibc
import Synchronization

/// How much of a disk's free space belongs to files that are being put together and have not all of their bytes. Pure.
struct ReservedSpace: Equatable, Sendable {
    private(set) var byteCount: UInt64 = 0

    /// What a file of so many bytes takes: disks give out blocks, most of them of 4 KiB.
    static func inBlocks(_ byteCount: UInt64) -> UInt64 {
        let (sum, overflows) = byteCount.addingReportingOverflow(4095)
        return overflows ? .max : sum & ~4095
    }

    /// Reserves `count` of the `available` bytes if `floor` bytes stay free besides all that is reserved; else changes nothing
    /// and says what is in the way.
    mutating func take(_ count: UInt64, of available: UInt64, floor: UInt64) -> SpaceShortage? {
        let shortage = SpaceShortage(available: available, reserved: byteCount, floor: floor)
        guard count > 0 else { return nil }
        guard shortage.free >= floor, shortage.free - floor >= count else { return shortage }
        // bounded: both together are at most `available`
        byteCount += count
        return nil
    }

    mutating func giveBack(_ count: UInt64) { byteCount -= min(byteCount, count) }
}

/// What a disk has, where that is too little.
package struct SpaceShortage: Equatable, Sendable {
    /// What this user may still write.
    package let available: UInt64
    /// What of it other files that are being put together still need.
    package let reserved: UInt64
    /// What must stay free of it.
    package let floor: UInt64

    /// What nobody else needs.
    package var free: UInt64 { available > reserved ? available - reserved : 0 }
}

/// How much must stay free on a folder's disk, in bytes. Pure.
package struct SpaceFloor: Equatable, Sendable {
    let byteCount: UInt64
    /// The disk of the folder's root.
    let device: UInt64

    /// How much must stay free on a disk of `total` bytes: on one that is mounted below the root a hundredth of it, or less.
    func bytes(on device: UInt64, of total: UInt64) -> UInt64 {
        device == self.device ? byteCount : min(byteCount, total / 100)
    }
}

/// What the files that are being put together still need of each disk, so that not more of them are begun than have room.
///
/// One for all that writes to the same disks. Tasks may call at the same time.
package final class SpaceReservations: Sendable {
    /// By device number.
    private let disks = Mutex<[UInt64: ReservedDisk]>([:])

    package init() {}

    func disk(_ device: UInt64) -> ReservedDisk {
        disks.withLock { disks in
            if let disk = disks[device] { return disk }
            let disk = ReservedDisk()
            disks[device] = disk
            return disk
        }
    }
}

final class ReservedDisk: Sendable {
    private let space = Mutex(ReservedSpace())

    var byteCount: UInt64 { space.withLock { $0.byteCount } }

    /// Blocks its thread, and those that reserve on the same disk: nothing is reserved between the look and the decision.
    ///
    /// - Parameter look: how much is available on it, and how much of that must stay free.
    func take(
        _ count: UInt64, _ look: () throws(FileAccessError) -> (available: UInt64, floor: UInt64)
    ) throws(FileAccessError) -> SpaceShortage? {
        try space.withLock { space throws(FileAccessError) in
            let (available, floor) = try look()
            return space.take(count, of: available, floor: floor)
        }
    }

    func giveBack(_ count: UInt64) { space.withLock { $0.giveBack(count) } }
}

/// What one file still needs; given back when this goes.
final class SpaceReservation: Sendable {
    private let disk: ReservedDisk
    private let left: Mutex<UInt64>

    /// - Parameter byteCount: taken from `disk` already.
    init(_ byteCount: UInt64, of disk: ReservedDisk) {
        self.disk = disk
        left = Mutex(byteCount)
    }

    deinit { disk.giveBack(left.withLock { $0 }) }

    /// Called after `count` bytes were written: what is taken twice for a moment is not given away twice.
    func wrote(_ count: Int) {
        let written = left.withLock { left in
            let written = min(left, UInt64(clamping: count))
            left -= written
            return written
        }
        disk.giveBack(written)
    }
}

extension RootDirectory {
    /// - Parameter byteCount: bytes that must stay free on the root's disk.
    package func spaceFloor(_ byteCount: UInt64) -> SpaceFloor { SpaceFloor(byteCount: byteCount, device: device) }

    /// How many bytes files that are being put together still need on the root's disk.
    package func reservedByteCount(in reservations: SpaceReservations) -> UInt64 { reservations.disk(device).byteCount }
}

extension StagedFile {
    /// Reserves what is still to be written to this file: each byte until it is written, and the rest until the file is committed,
    /// discarded or closed. What was reserved for it before is given back. Blocks its thread.
    ///
    /// - Parameter floor: what must stay free besides.
    /// - Returns: nil if that has room; else nothing is reserved.
    /// - Throws: `FileAccessError` if the disk does not say how much is free.
    package func reserve(
        _ byteCount: UInt64, above floor: SpaceFloor? = nil, in reservations: SpaceReservations
    ) throws(FileAccessError) -> SpaceShortage? {
        setReservation(nil)
        // Where layers make up a directory, its files have the numbers of other disks.
        let device = try directory.status().device
        let disk = reservations.disk(device)
        let byteCount = ReservedSpace.inBlocks(byteCount)
        let shortage = try disk.take(byteCount) { () throws(FileAccessError) in
            let space = try freeSpace()
            return (space.available, floor?.bytes(on: device, of: space.total) ?? 0)
        }
        if shortage == nil { setReservation(SpaceReservation(byteCount, of: disk)) }
        return shortage
    }

    private func freeSpace() throws(FileAccessError) -> FreeSpace {
        var status = statvfs()
        _ = try system { fstatvfs(file.descriptor.number, &status) }.orThrow(.measureSpace, path: file.path)
        return FreeSpace(status)
    }
}
