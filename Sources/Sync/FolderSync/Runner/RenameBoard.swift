import BlockExchange
import SyncDecisions
import Synchronization

/// How much each device that the folder is shared with has had renamed here.
final class RenameBoard: Sendable {
    private let quotas = Mutex<[DeviceID: RenameQuota]>([:])

    /// Counts a request; false if it comes too soon after others.
    func take(_ device: DeviceID, at now: MonotonicTime) -> Bool {
        quotas.withLock { $0[device, default: RenameQuota()].take(at: now) }
    }
}
