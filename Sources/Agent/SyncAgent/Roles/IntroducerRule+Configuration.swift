import AgentConfiguration
import BlockExchange
import LinkRules

extension IntroducerRule {
    /// As the configuration stands.
    init(_ localDevice: DeviceID, _ configuration: Configuration) {
        self.init(
            local: localDevice,
            devices: configuration.devices.map { device in
                Device(
                    device.id, introducedBy: device.introducedBy, isIntroducer: device.isIntroducer,
                    skipsRemovals: device.skipsIntroductionRemovals,
                    isUntrusted: configuration.folders.contains { $0.untrusted.contains(device.id) })
            },
            folders: configuration.folders.map { folder in
                Folder(
                    folder.id, shares: folder.devices.map { Share($0, introducedBy: folder.introducer(of: $0)) })
            })
    }
}

extension IntroducerRule.Remark {
    /// For the log.
    var words: String {
        switch self {
        case .needsPassword(let folder, let device):
            "\(folder) is not shared with \(device.shortID), which gets it encrypted: there is no password for it here"
        case .tooManyDevices: "more than \(IntroducerRule.deviceLimit) devices; the others are not added"
        case .tooManyShares(let folder):
            "more than \(IntroducerRule.shareLimit) devices for \(folder); the others are not added"
        case .mutualIntroducers: "it follows this device, too, so nothing that it introduced is removed"
        }
    }
}

extension ConfigurationEdit {
    /// What an introducer's word changes in the configuration.
    init(_ change: IntroducerRule.Change) {
        switch change {
        case .addDevice(let new):
            var device = DeviceConfiguration(
                id: new.id, name: new.name, addresses: new.addresses, introducedBy: new.introducedBy)
            device.isIntroducer = new.isIntroducer
            device.skipsIntroductionRemovals = new.skipsRemovals
            self = .addDevice(device)
        case .share(let folder, let device, let introducer):
            self = .shareFolder(folder, device, introducedBy: introducer)
        case .unshare(let folder, let device): self = .unshareFolder(folder, device)
        case .removeDevice(let device): self = .removeDevice(device)
        }
    }
}
