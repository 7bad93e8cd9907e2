import AgentConfiguration
import BlockExchange
import IndexStore
import Logging

/// Follows the admins of folders: further devices, further folders.
struct AdminFollower: Sendable {
    let inbox: IntroductionInbox
    let localDevice: DeviceID
    let changes: ConfigurationChanges
    let index: IndexStore
    let places: AgentPlaces
    let logger: Logger

    /// Runs until cancelled.
    func run() async {
        for await news in inbox.news {
            switch news {
            case .introduction(let admin): await follow(admin)
            case .distrust(let folder, let device): await distrust(folder, device)
            }
        }
    }

    /// Writes into the configuration that a device keeps a folder encrypted. The folder heeds it already.
    private func distrust(_ folder: FolderID, _ device: DeviceID) async {
        do {
            try await changes.edit { _ in [.distrust(folder, device)] }
        } catch {
            logger.error(
                "cannot write to the configuration that \(device.shortID) keeps \(folder) encrypted: \(error)")
        }
    }

    private func follow(_ admin: DeviceID) async {
        guard let config = inbox.take(from: admin) else { return }
        do {
            let declined = try await index.declinedFolders()
            var edits: [ConfigurationEdit] = []
            try await changes.inTurn { turn in
                let configuration = turn.current
                let introductions = Introductions(
                    admin: admin, localDevice: localDevice, configuration: configuration)
                edits = introductions.edits(for: config)
                let place = configuration.offeredFolders ?? places.userHome.map { $0 + "/Sync" }
                for folder in introductions.offers(in: config, declined: declined, place: place ?? "") {
                    guard place != nil, prepare(folder, configuration) else { continue }
                    edits.append(.addFolder(folder))
                }
                guard !edits.isEmpty else { return }
                try await turn.edit(edits)
            }
            for edit in edits {
                logger.notice("the admin \(admin.shortID): \(Self.words(edit))")
                if case .addFolder(let folder) = edit { try await index.forgetPending(folder.id) }
            }
        } catch {
            logger.warning("what the admin \(admin) says cannot be followed: \(error)")
        }
    }

    /// Whether the folder has a directory now. What is in the way is left alone, and the offer stays one to be taken by hand.
    private func prepare(_ folder: FolderConfiguration, _ configuration: Configuration) -> Bool {
        do {
            try FolderPreparation.prepare(folder, others: configuration.folders, places: places)
            return true
        } catch {
            logger.warning("the folder \(folder.id) that an admin offers cannot be taken: \(error)")
            return false
        }
    }

    private static func words(_ edit: ConfigurationEdit) -> String {
        switch edit {
        case .addDevice(let device): "device \(device.id) was added"
        case .removeDevice(let id): "device \(id) was removed"
        case .setFolderDevices(let folder, let devices): "folder \(folder) is shared with \(devices.count) devices"
        case .addFolder(let folder): "folder \(folder.id) was taken to \(folder.path), with nothing selected"
        default: "the configuration was changed"
        }
    }
}
