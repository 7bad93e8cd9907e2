import AgentConfiguration
import BlockExchange

/// Following the admins of folders: further devices, further folders.
extension Agent {
    /// Takes what a device says of its folders, if it is the admin of one; what comes of it comes later.
    func heard(_ config: ClusterConfig, from device: DeviceID) {
        let introductions = Introductions(
            admin: device, localDevice: localDevice, configuration: configuration.withLock { $0 })
        guard !config.isSecondary, introductions.isAdmin, introduced.put(config, from: device) else { return }
        start(.introduction { await self.follow(device) })
    }

    /// Writes into the configuration that a device keeps a folder encrypted. The folder's session heeds it already.
    func distrust(_ folder: FolderID, _ device: DeviceID) {
        let isKnown = configuration.withLock { configuration in
            configuration.folders.first { $0.id == folder }?.untrusted.contains(device) ?? true
        }
        guard !isKnown else { return }
        start(
            .introduction {
                do {
                    try await self.reconfigure { [.distrust(folder, device)] }
                } catch {
                    self.setup.logger.error(
                        "cannot write to the configuration that \(device.shortID) keeps \(folder) encrypted: \(error)")
                }
            })
    }

    private func follow(_ admin: DeviceID) async {
        guard let config = introduced.take(from: admin) else { return }
        do {
            let declined = try await index.declinedFolders()
            var edits: [ConfigurationEdit] = []
            try await gate.withUnits(1) {
                let configuration = configuration.withLock { $0 }
                let introductions = Introductions(
                    admin: admin, localDevice: localDevice, configuration: configuration)
                edits = introductions.edits(for: config)
                let place = configuration.offeredFolders ?? setup.places.userHome.map { $0 + "/Sync" }
                for folder in introductions.offers(in: config, declined: declined, place: place ?? "") {
                    guard place != nil, prepare(folder, configuration) else { continue }
                    edits.append(.addFolder(folder))
                }
                guard !edits.isEmpty else { return }
                try await apply(try edited(edits))
            }
            for edit in edits {
                setup.logger.notice("the admin \(admin.shortID): \(Self.words(edit))")
                if case .addFolder(let folder) = edit { try await index.forgetPending(folder.id) }
            }
        } catch {
            setup.logger.warning("what the admin \(admin) says cannot be followed: \(error)")
        }
    }

    /// Whether the folder has a directory now. What is in the way is left alone, and the offer stays one to be taken by hand.
    private func prepare(_ folder: FolderConfiguration, _ configuration: Configuration) -> Bool {
        do {
            try FolderPreparation.prepare(folder, others: configuration.folders, places: setup.places)
            return true
        } catch {
            setup.logger.warning("the folder \(folder.id) that an admin offers cannot be taken: \(error)")
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
