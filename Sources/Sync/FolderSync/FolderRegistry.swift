import BlockExchange
import Fetching
import IndexStore
import Synchronization

/// The folders of this agent by id: looked up here, owned by nobody else.
package final class FolderRegistry: Sendable {
    private let folders = Mutex<[FolderID: Folder]>([:])
    /// Folders that others offer and that are not here.
    package let pending: PendingRegistry

    package init(pending: PendingRegistry) { self.pending = pending }

    package var all: [Folder] { folders.withLock { Array($0.values) }.sorted { $0.id < $1.id } }

    package func folder(_ id: FolderID) -> Folder? { folders.withLock { $0[id] } }

    package func folder(_ id: FolderID, sharedWith device: DeviceID) -> Folder? {
        guard let folder = folder(id), folder.exchange.isShared(with: device) else { return nil }
        return folder
    }

    package func insert(_ folder: Folder) { folders.withLock { $0[folder.id] = folder } }

    @discardableResult
    package func remove(_ id: FolderID) -> Folder? { folders.withLock { $0.removeValue(forKey: id) } }
}

/// A folder that a device offers and that is not here.
package struct FolderOffer: Hashable, Sendable {
    package var folder: FolderID
    package var label: String
    package var device: DeviceID

    package init(folder: FolderID, label: String, device: DeviceID) {
        self.folder = folder
        self.label = label
        self.device = device
    }
}

extension SharedDownloads {
    /// As folders and index have it at the time of asking.
    package init(board: DownloadBoard, localDevice: DeviceID, folders: FolderRegistry, index: IndexStore) {
        self.init(
            board: board, localDevice: localDevice,
            sharers: { id in
                guard let folder = folders.folder(id) else { return [] }
                return folder.configuration.devices.filter { $0 != localDevice && folder.exchange.isShared(with: $0) }
            },
            holders: { id, file in
                // While the index cannot be read, the holders known so far are asked.
                guard let entry = try? await index.global(id, file.name), entry.file?.version == file.version else {
                    return nil
                }
                return entry.holders
            })
    }
}
