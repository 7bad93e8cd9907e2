import BlockExchange
import Logging
import Reconciliation
import Synchronization

/// The folders of this agent by id: looked up here, owned by nobody else.
final class FolderRegistry: Sendable {
    private let folders = Mutex<[FolderID: Folder]>([:])
    private let pending: PendingRegistry
    private let logger: Logger

    init(pending: PendingRegistry, logger: Logger) {
        self.pending = pending
        self.logger = logger
    }

    var all: [Folder] { folders.withLock { Array($0.values) }.sorted { $0.id < $1.id } }

    func folder(_ id: FolderID) -> Folder? { folders.withLock { $0[id] } }

    func folder(_ id: FolderID, sharedWith device: DeviceID) -> Folder? {
        guard let folder = folder(id), folder.exchange.isShared(with: device) else { return nil }
        return folder
    }

    func insert(_ folder: Folder) { folders.withLock { $0[folder.id] = folder } }

    @discardableResult
    func remove(_ id: FolderID) -> Folder? { folders.withLock { $0.removeValue(forKey: id) } }

    /// What `device` is told: every folder shared with it, this device and it in each; of one that is paused, that it is.
    ///
    /// - Parameter mayTell: Whether the link may speak of a folder.
    func clusterConfig(
        for device: DeviceID, localDevice: DeviceID, mayTell: (FolderID) -> Bool
    ) async throws -> ClusterConfig {
        var config = ClusterConfig()
        for folder in all.map(\.exchange)
        where folder.isConfigured(for: device) && folder.isTrusted(device) && mayTell(folder.id) {
            config.folders.append(try await folder.clusterConfigEntry(for: device, localDevice: localDevice))
        }
        return config
    }

    /// Takes in what `device` shares: notes what its indexes are, offers of folders that are not here, and says which of
    /// our indexes it is to be sent from where on.
    ///
    /// - Parameters:
    ///   - client: what the device says that it is, in its Hello.
    ///   - distrust: Notes for good that the device keeps a folder encrypted; does not wait.
    func received(
        _ config: ClusterConfig, from device: DeviceID, client: String, localDevice: DeviceID,
        unnamed: Set<FolderID> = [],
        mayTell: (FolderID) -> Bool, distrust: (FolderID) -> Void
    ) async throws -> [IndexFeed] {
        guard !config.isSecondary else { return [] }
        var feeds: [IndexFeed] = []
        var offers: [FolderOffer] = []
        for offered in config.folders {
            guard let folder = folder(offered.id)?.exchange, folder.isConfigured(for: device) else {
                offers.append(FolderOffer(folder: offered.id, label: offered.label, device: device))
                continue
            }
            // The note must not wait for a link that may speak of the folder, nor for the end of a pause.
            if offered.devices.contains(where: {
                !$0.encryptionPasswordToken.isEmpty && ($0.id == device || $0.id == localDevice)
            }) {
                // What an encrypted folder holds cannot be read here, and the device must never get what is here.
                if folder.isTrusted(device) {
                    logger.warning(
                        "\(device.shortID) keeps the folder \(offered.id) encrypted, so this device does not send it unencrypted"
                    )
                }
                try await folder.distrust(device)
                distrust(folder.id)
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
            let feed = try await folder.exchangeIndexes(
                with: device, itKnows: local, itHas: remote, mode: PeerMode(offered, client: client),
                isUnnamed: unnamed.contains(folder.id))
            if offered.stopReason == 0 { feeds.append(feed) }
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

extension PeerMode {
    /// - Parameter client: the client name of the device's Hello.
    init(_ folder: ClusterConfig.Folder, client: String) {
        self =
            switch folder.mode {
            case .full: .full
            case .selective: .selective
            case nil: client == "syncthing" ? .syncthing : .unknown
            }
    }
}
