import AgentConfiguration
import BlockExchange

/// What the index has of folders and devices that the configuration does not name any more: what was removed while no agent
/// ran, or could not be dropped when it was.
struct IndexLeftovers: Equatable, Sendable {
    /// What a device announced of a folder that is not shared with it.
    struct Share: Equatable, Sendable {
        var folder: FolderID
        var device: DeviceID
    }

    /// What is known of the configuration beside what it says.
    struct Trust: Equatable, Sendable {
        /// Whether it is meant that it names no folders, or no devices. A file that was emptied looks like that.
        var hasNoFolders = false
        var hasNoDevices = false
    }

    var folders: [FolderID] = []
    /// Of the folders that are named.
    var shares: [Share] = []
    /// Devices whose last contact is still stored.
    var devices: [DeviceID] = []
    /// What is kept because it may be an accident that the configuration names nothing of the kind. Of these folders all is kept.
    var keptFolders: [FolderID] = []
    var keptDevices: Set<DeviceID> = []

    /// - Parameters:
    ///   - known: the folders of the index, each with the devices that it stores something about.
    ///   - seen: the devices whose last contact is stored.
    ///   - added: folders that somebody has just added: what the index has of earlier ones with their ids is not theirs.
    init(
        known: [FolderID: Set<DeviceID>], seen: Set<DeviceID>, in configuration: Configuration,
        added: Set<FolderID> = [], _ trust: Trust
    ) {
        let named = Set(configuration.devices.map(\.id))
        let wanted = Dictionary(configuration.folders.map { ($0.id, Set($0.devices)) }) { first, _ in first }
        let keepsFolders = configuration.folders.isEmpty && !trust.hasNoFolders
        let keepsDevices = configuration.devices.isEmpty && !trust.hasNoDevices
        var kept: Set<DeviceID> = []
        for (folder, announcers) in known.sorted(by: { $0.key < $1.key }) {
            if keepsFolders {
                keptFolders.append(folder)
                kept.formUnion(announcers)
            } else if let sharing = wanted[folder], !added.contains(folder) {
                if keepsDevices {
                    keptDevices.formUnion(announcers)
                } else {
                    shares += announcers.subtracting(sharing).sorted().map { Share(folder: folder, device: $0) }
                }
            } else {
                folders.append(folder)
            }
        }
        if !keepsDevices { devices = seen.subtracting(named).subtracting(kept).sorted() }
    }
}
