import AgentConfiguration
import BlockExchange
import IndexStore

/// What a device may cost, and what it has cost since it was resumed: a device that goes over a quota is paused, and stays so until a
/// person resumes it. Pure.
struct DeviceAllowance: Sendable {
    /// Folders that it may offer at once; the newest of them are kept.
    static let offers = 1000

    var storage = StorageBackoff()
    private var configurations = ConfigurationQuota()
    private var indexSpace = IndexSpaceQuota()
    /// The quota that it went over.
    private(set) var exceeded: DeviceQuota?

    /// The device says what it shares, some of it unknown here. Returns the quota that this is over.
    mutating func configured(offering offers: Int, at now: MonotonicTime) -> DeviceQuota? {
        guard configurations.take(at: now) else { return .sharing }
        return offers > Self.offers ? .offers : nil
    }

    /// The device announces entries of an index. Returns the quota that this is over.
    mutating func announced(_ byteCount: UInt64, with space: IndexSpace?) -> DeviceQuota? {
        indexSpace.take(byteCount, of: space) ? nil : .indexSpace
    }

    /// False if it went over one before, and is known to be paused.
    mutating func exceed(_ quota: DeviceQuota) -> Bool {
        guard exceeded == nil else { return false }
        exceeded = quota
        return true
    }
}

/// What a device may have stored while the disk of the index is low: as much as is kept for this device's own changes, and never less
/// than on an ordinary disk. So it takes several to bring that to where nothing of anybody is stored; a small disk is brought there by a
/// device that does nothing wrong, and then the folder says so until space is freed. Pure.
struct IndexSpaceQuota: Sendable {
    static let least: UInt64 = 64 << 20
    private var taken: UInt64 = 0

    /// - Parameter space: nil where the disk does not say how much is free.
    mutating func take(_ byteCount: UInt64, of space: IndexSpace?) -> Bool {
        guard let space, space.isLow else {
            taken = 0
            return true
        }
        let (sum, overflows) = taken.addingReportingOverflow(byteCount)
        taken = overflows ? .max : sum
        return taken <= max(Self.least, space.kept)
    }
}
