import BlockExchange
import Fetching
import GhostDrop
import SyncDecisions

/// Takes what paired devices have, while the user receives.
package protocol DeviceDropReceiver: Sendable {
    /// A paired device has a file. True if it is going to be asked about it.
    func offered(_ id: UniqueID, by device: DeviceID) -> Bool
    /// The device that offered it does not offer it any more.
    func cancelled(_ id: UniqueID, by device: DeviceID)
}

/// A file that a paired device may get.
package protocol DeviceDropSource: Sendable {
    var id: UniqueID { get }
    /// Which may get it.
    var device: DeviceID { get }

    /// Answers what the device asks about it.
    func serve(_ message: DeviceDropMessage, _ request: BlockRequest) async -> BlockAnswer
}
