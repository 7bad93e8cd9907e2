import BlockExchange
import Fetching
import GhostDrop
import PeerLinks
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

extension PeerSession {
    /// Tells the sender of a file how it ended here; by an older word if the device does not know this one.
    ///
    /// - Throws: as `request`.
    func tell(_ end: DeviceDropMessage.End, of id: UniqueID) async throws {
        do {
            _ = try await request(DeviceDropMessage(.end, id, end: end).request(), isBulk: false)
        } catch let error as RequestError {
            guard case .refused = error, let older = end.older else { throw error }
            _ = try await request(DeviceDropMessage(.end, id, end: older).request(), isBulk: false)
        }
    }
}
