import AgentContext
import Arithmetic
import BlockExchange
import ControlAPI
import FolderSync
import IndexStore
import PeerLinks
import SyncDecisions

/// Reads what a folder's devices have and share, for its status.
struct FolderOutlookReading: Sendable {
    let localDevice: DeviceID
    let devices: DeviceRegistry
    let index: IndexStore

    private static let changeLimit = 10_000

    /// Says what the folder has and what it waits for.
    ///
    /// - Parameter lacks: who holds what is needed; nil for what the last pull found.
    func add(to status: inout FolderStatus, of folder: Folder, lacks: [FolderOutlook.Lack]? = nil) async {
        var known: Set<DeviceID> = []
        var unsent = 0
        do {
            known = try await index.announcers(of: folder.id)
            if folder.configuration.kind == .receiveOnly {
                unsent = try await index.countChangedHere(in: folder.id, limit: Self.changeLimit)
            }
        } catch {
            status.state = FolderState.error.rawValue
            status.text = Phrase(of: error)
        }
        let settings = folder.configuration
        let peers = settings.devices.filter { $0 != localDevice }.map { id in
            let state = devices.device(id)?.state
            var peer = FolderOutlook.Peer(id: id, name: state?.name ?? "")
            peer.isConnected = state?.session != nil
            peer.isPaused = state?.isPaused ?? false
            peer.hasIndex = known.contains(id)
            peer.refuses = folder.boards.peers.refusesChanges(id)
            // Over Bluetooth a device may keep to itself what it shares.
            if let session = state?.session, !session.information.kind.isSlow, let config = session.peerConfig {
                let shared = config.folders.first { $0.id == folder.id }
                peer.sharing = shared == nil ? .notSharing : shared?.stopReason == 0 ? .shares : .paused
            }
            if !folder.exchange.isTrusted(id) { peer.sharing = .encrypted }
            return peer
        }
        let activity = folder.boards.status.snapshot
        var outlook = FolderOutlook(
            folder: folder.id.rawValue, status: status,
            pausedUntil: settings.pausedUntil.map { WallTime(seconds: $0).rfc3339 }, peers: peers,
            lacks: lacks ?? activity.lacks,
            isSelectionMissing: folder.boards.places.current.failure?.isSelectionMissing ?? false)
        if settings.kind == .sendOnly {
            outlook.untaken = activity.untaken.items.count.addingClamped(activity.untaken.deletions)
        }
        outlook.unsent = Int64(unsent)
        status.copy = outlook.copy
        status.waits = outlook.waits
    }
}
