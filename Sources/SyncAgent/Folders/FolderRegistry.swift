import BlockExchange
import Logging
import Synchronization

/// The folders of this agent by id: looked up here, owned by nobody else.
final class FolderRegistry: Sendable {
    private let folders = Mutex<[FolderID: FolderSession]>([:])
    private let pending: PendingRegistry
    private let logger: Logger

    init(pending: PendingRegistry, logger: Logger) {
        self.pending = pending
        self.logger = logger
    }

    var all: [FolderSession] { folders.withLock { Array($0.values) }.sorted { $0.id < $1.id } }

    func folder(_ id: FolderID) -> FolderSession? { folders.withLock { $0[id] } }

    func folder(_ id: FolderID, sharedWith device: DeviceID) -> FolderSession? {
        guard let folder = folder(id), folder.isShared(with: device) else { return nil }
        return folder
    }

    func insert(_ folder: FolderSession) { folders.withLock { $0[folder.id] = folder } }

    @discardableResult
    func remove(_ id: FolderID) -> FolderSession? { folders.withLock { $0.removeValue(forKey: id) } }

    /// What `device` is told: every folder shared with it, this device and it in each; of one that is paused, that it is.
    ///
    /// - Parameter mayTell: Whether the link may speak of a folder.
    func clusterConfig(
        for device: DeviceID, localDevice: DeviceID, mayTell: (FolderID) -> Bool
    ) async throws -> ClusterConfig {
        var config = ClusterConfig()
        for folder in all where folder.isConfigured(for: device) && mayTell(folder.id) {
            config.folders.append(try await folder.clusterConfigEntry(for: device, localDevice: localDevice))
        }
        return config
    }

    /// Takes in what `device` shares: notes what its indexes are, offers of folders that are not here, and says which of
    /// our indexes it is to be sent from where on.
    func received(
        _ config: ClusterConfig, from device: DeviceID, localDevice: DeviceID, unnamed: Set<FolderID> = [],
        mayTell: (FolderID) -> Bool
    ) async throws -> [IndexFeed] {
        guard !config.isSecondary else { return [] }
        var feeds: [IndexFeed] = []
        var offers: [FolderOffer] = []
        for offered in config.folders {
            guard let folder = folder(offered.id), folder.isConfigured(for: device) else {
                offers.append(FolderOffer(folder: offered.id, label: offered.label, device: device))
                continue
            }
            guard folder.isShared(with: device), mayTell(folder.id) else { continue }
            guard let local = offered.devices.first(where: { $0.id == localDevice }) else {
                throw ProtocolError(
                    .unexpectedMessage, "the cluster config's folder \(offered.id) does not list this device")
            }
            guard let remote = offered.devices.first(where: { $0.id == device }) else {
                throw ProtocolError(
                    .unexpectedMessage, "the cluster config's folder \(offered.id) does not list its sender")
            }
            guard local.encryptionPasswordToken.isEmpty, remote.encryptionPasswordToken.isEmpty else {
                // What an encrypted folder holds cannot be read here, and mixing the two would spoil both.
                logger.warning(
                    "folder \(offered.id) is encrypted for this device, which synctrain does not support; share it unencrypted"
                )
                continue
            }
            if let feed = try await folder.exchangeIndexes(
                with: device, itKnows: local, itHas: remote, isUnnamed: unnamed.contains(folder.id))
            {
                if offered.stopReason == 0 { feeds.append(feed) }
            }
        }
        await pending.offered(offers)
        return feeds
    }
}

/// A folder that a device offers and that is not here.
struct FolderOffer: Hashable, Sendable {
    var folder: FolderID
    var label: String
    var device: DeviceID
}
