import BlockExchange
import IndexStore
import Reconciliation
import Synchronization

/// What the connected devices say of their index of a folder on this link: up to where it goes.
package final class PeerBoard: Sendable {
    private let announced = Mutex<[DeviceID: IndexStore.IndexState]>([:])

    package var all: [DeviceID: IndexStore.IndexState] { announced.withLock { $0 } }

    package func set(_ device: DeviceID, _ state: IndexStore.IndexState?) { announced.withLock { $0[device] = state } }
}

extension FolderContext {
    /// Which devices count as copies now.
    func copyRule() async throws -> CopyRule {
        let announced = peers.all
        let modes = try await index.store.modes(in: id)
        var rule = CopyRule(isFull: settings.mode == .full, peers: [:])
        for device in settings.devices {
            var peer = CopyRule.Peer(mode: modes[device].flatMap(PeerMode.init) ?? .unknown)
            if let announced = announced[device],
                let known = try await index.store.remoteIndex(of: id, device: device)
            {
                peer.isCurrent = known.indexID == announced.indexID && known.maxSequence >= announced.maxSequence
            }
            rule.peers[device] = peer
        }
        return rule
    }
}
