import BlockExchange
import Synchronization

/// The folders of this agent by id: looked up here, owned by nobody else.
final class FolderRegistry: Sendable {
    private let folders = Mutex<[FolderID: Folder]>([:])
    /// Folders that others offer and that are not here.
    let pending: PendingRegistry

    init(pending: PendingRegistry) { self.pending = pending }

    var all: [Folder] { folders.withLock { Array($0.values) }.sorted { $0.id < $1.id } }

    func folder(_ id: FolderID) -> Folder? { folders.withLock { $0[id] } }

    func folder(_ id: FolderID, sharedWith device: DeviceID) -> Folder? {
        guard let folder = folder(id), folder.exchange.isShared(with: device) else { return nil }
        return folder
    }

    func insert(_ folder: Folder) { folders.withLock { $0[folder.id] = folder } }

    @discardableResult
    func remove(_ id: FolderID) -> Folder? { folders.withLock { $0.removeValue(forKey: id) } }
}

/// A folder that a device offers and that is not here.
struct FolderOffer: Hashable, Sendable {
    var folder: FolderID
    var label: String
    var device: DeviceID
}
