import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import IndexStore
import Logging
import Synchronization

/// Unknown devices that tried to connect and folders that were offered, kept in the index until someone adds them. Those that
/// the user ignores are neither kept nor shown, nor is a device that was added while it introduced itself.
package final class PendingRegistry: Sendable {
    private let index: IndexStore
    private let ignored: @Sendable () -> Configuration.Ignored
    private let isKnown: @Sendable (DeviceID) -> Bool
    private let events: EventHub
    private let time: AgentTime
    private let logger: Logger

    /// - Parameters:
    ///   - ignored: as the configuration has it at that moment.
    ///   - isKnown: Whether a device is in the configuration at that moment.
    package init(
        index: IndexStore, ignored: @escaping @Sendable () -> Configuration.Ignored,
        isKnown: @escaping @Sendable (DeviceID) -> Bool = { _ in false }, events: EventHub, time: AgentTime,
        logger: Logger
    ) {
        self.index = index
        self.ignored = ignored
        self.isKnown = isKnown
        self.events = events
        self.time = time
        self.logger = logger
    }

    package func knocked(_ device: DeviceID, name: String, address: String) async {
        guard isPending(device) else { return }
        await note("pending device") {
            try await self.index.notePending(
                StoredPendingDevice(
                    id: device, name: name, address: address, lastSeen: self.time.wall().seconds))
        }
        events.post("device-pending", device: device, message: name)
    }

    package func offered(_ offers: [FolderOffer]) async {
        let ignored = ignored()
        for offer in offers where !ignored.contains(offer.folder, from: offer.device) {
            await note("pending folder") {
                try await self.index.notePending(
                    StoredPendingFolder(
                        id: offer.folder, device: offer.device, label: offer.label,
                        lastSeen: self.time.wall().seconds))
            }
            events.post("folder-pending", device: offer.device, folder: offer.folder, message: offer.label)
        }
    }

    /// The device has said all that it offers: what it offered before and is not in `folders`, it offers no longer.
    package func offersOnly(_ folders: some Sequence<FolderID> & Sendable, _ device: DeviceID) async {
        await note("pending folder") {
            guard try await self.index.forgetOffers(of: device, but: Set(folders)) else { return }
            self.events.post("folder-pending", device: device)
        }
    }

    /// The unknown devices that tried to connect and are not ignored, the newest first.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func devices() async throws -> [ControlAPI.PendingDevice] {
        try await index.pendingDevices().filter { isPending($0.id) }.map {
            ControlAPI.PendingDevice(
                id: $0.id.description, name: $0.name, address: $0.address,
                lastSeen: WallTime(seconds: $0.lastSeen).rfc3339)
        }
    }

    /// The folders that devices offer and that are not ignored, the newest first.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func folders() async throws -> [ControlAPI.PendingFolder] {
        let ignored = ignored()
        return try await index.pendingFolders().filter { !ignored.contains($0.id, from: $0.device) }.map {
            ControlAPI.PendingFolder(
                id: $0.id.rawValue, label: $0.label, device: $0.device.description,
                lastSeen: WallTime(seconds: $0.lastSeen).rfc3339)
        }
    }

    private func isPending(_ device: DeviceID) -> Bool { !ignored().contains(device) && !isKnown(device) }

    private func note(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { logger.warning("cannot record a \(what): \(error)") }
    }
}
