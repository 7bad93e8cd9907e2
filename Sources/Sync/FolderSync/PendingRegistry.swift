import AgentContext
import BlockExchange
import ControlAPI
import IndexStore
import Logging
import Synchronization

/// Devices that knocked and folders that were offered, kept in the index until someone takes them in.
package final class PendingRegistry: Sendable {
    private let index: IndexStore
    private let events: EventHub
    private let time: AgentTime
    private let logger: Logger

    package init(index: IndexStore, events: EventHub, time: AgentTime, logger: Logger) {
        self.index = index
        self.events = events
        self.time = time
        self.logger = logger
    }

    package func knocked(_ device: DeviceID, name: String, address: String) async {
        await note("pending device") {
            try await self.index.notePending(
                StoredPendingDevice(
                    id: device, name: name, address: address, lastSeen: self.time.wall().seconds))
        }
        events.post("device-pending", device: device, message: name)
    }

    package func offered(_ offers: [FolderOffer]) async {
        for offer in offers {
            await note("pending folder") {
                try await self.index.notePending(
                    StoredPendingFolder(
                        id: offer.folder, device: offer.device, label: offer.label,
                        lastSeen: self.time.wall().seconds))
            }
            events.post("folder-pending", device: offer.device, folder: offer.folder, message: offer.label)
        }
    }

    package func devices() async throws -> [ControlAPI.PendingDevice] {
        try await index.pendingDevices().map {
            ControlAPI.PendingDevice(
                id: $0.id.description, name: $0.name, address: $0.address,
                lastSeen: WallTime(seconds: $0.lastSeen).rfc3339)
        }
    }

    package func folders() async throws -> [ControlAPI.PendingFolder] {
        try await index.pendingFolders().map {
            ControlAPI.PendingFolder(
                id: $0.id.rawValue, label: $0.label, device: $0.device.description,
                lastSeen: WallTime(seconds: $0.lastSeen).rfc3339)
        }
    }

    private func note(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { logger.warning("cannot record a \(what): \(error)") }
    }
}
