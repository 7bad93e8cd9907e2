import AgentConfiguration
import BlockExchange
import ControlAPI

extension Configuration {
    /// As the control API shows it: the proxy without its password.
    package var networkSettings: NetworkSettings {
        NetworkSettings(
            localDiscovery: discovery.local, globalDiscovery: discovery.global, discoveryServers: discovery.servers,
            announceLocalAddresses: discovery.announcesLocalAddresses, relays: relays.isEnabled,
            relayServers: relays.servers, portMapping: network.mapsPorts, connections: network.connections,
            proxy: network.proxy.map(ServerURL.withoutPassword), proxyOnly: network.isProxyOnly)
    }

    package var ignoredList: IgnoredList {
        IgnoredList(
            devices: ignored.devices.map(\.description),
            folders: ignored.folders.map {
                IgnoredOffer(folder: $0.folder.rawValue, device: $0.device?.description)
            })
    }

    /// The edits that change settings of the network.
    ///
    /// - Throws: `ControlError` (`invalidRequest`) if no setting is given.
    package func edits(applying change: NetworkChange) throws -> [ConfigurationEdit] {
        let values = [
            (NetworkSwitch.localDiscovery, change.localDiscovery), (.globalDiscovery, change.globalDiscovery),
            (.relays, change.relays), (.portMapping, change.portMapping),
        ]
        let edits = values.compactMap { setting, isOn in isOn.map { ConfigurationEdit.setNetwork(setting, $0) } }
        guard !edits.isEmpty else { throw ControlError(.invalidRequest, "give a setting to change") }
        return edits
    }

    /// The edits that change settings of a device.
    ///
    /// - Throws: `ConfigurationError` (`noSuchDevice`, `duplicate`); `ControlError` (`invalidRequest`) if no setting is
    ///   given.
    package func edits(applying change: DeviceChange) throws -> [ConfigurationEdit] {
        let device = try device(change.device)
        var edits: [ConfigurationEdit] = []
        if let isIntroducer = change.introducer { edits.append(.setIntroducer(device.id, isIntroducer)) }
        if let skips = change.skipIntroductionRemovals {
            edits.append(.setSkipsIntroductionRemovals(device.id, skips))
        }
        if let networks = change.allowedNetworks { edits.append(.setAllowedNetworks(device.id, networks)) }
        if change.up != nil || change.down != nil {
            var rates = device.rates
            if let up = change.up { rates.up = up == 0 ? nil : up }
            if let down = change.down { rates.down = down == 0 ? nil : down }
            edits.append(.setDeviceRates(device.id, rates))
        }
        if let count = change.connections {
            edits.append(.setDeviceConnections(device.id, count == 0 ? nil : Int(clamping: count)))
        }
        guard !edits.isEmpty else { throw ControlError(.invalidRequest, "give a setting to change") }
        return edits
    }

    /// The edit that says whether a folder may go over relays.
    ///
    /// - Throws: `ConfigurationError` (`noSuchFolder`).
    package func edits(applying change: FolderRelaysChange) throws -> [ConfigurationEdit] {
        [.setFolderRelays(try folder(FolderID(change.folder)).id, change.relays)]
    }

    /// The edit that ignores a device or an offered folder, or ends that.
    ///
    /// - Parameter localDevice: this device's own id, which cannot be ignored; nil if it is not known here.
    /// - Throws: `ControlError` (`invalidRequest` for a request without a subject, what is not a device id, this
    ///   device, a known device or a shared folder); `ConfigurationError` (`duplicate`).
    package func edits(applying change: IgnoreChange, localDevice: DeviceID?) throws -> [ConfigurationEdit] {
        try change.check()
        let device = try change.device.map { try deviceID($0) }
        if let folder = change.folder.map({ FolderID($0) }) {
            guard !change.isIgnored || !folders.contains(where: { $0.id == folder }) else {
                throw ControlError(
                    .invalidRequest,
                    "the folder \(folder) is shared on this device; remove it first with `synctrain folder remove`",
                    path: change.folder)
            }
            return [.setFolderIgnored(IgnoredFolder(folder, from: device), change.isIgnored)]
        }
        guard let device else { return [] }
        guard !change.isIgnored || device != localDevice else {
            throw ControlError(.invalidRequest, "\(device) is this device", path: change.device)
        }
        guard !change.isIgnored || !devices.contains(where: { $0.id == device }) else {
            throw ControlError(
                .invalidRequest,
                "\(change.device ?? "") is a known device; remove it first with `synctrain device remove`",
                path: change.device)
        }
        return [.setDeviceIgnored(device, change.isIgnored)]
    }

    /// The id of a device that need not be known; by its name one that is.
    private func deviceID(_ reference: String) throws -> DeviceID {
        do throws(DeviceIDError) {
            return try DeviceID(parsing: reference)
        } catch {
            guard devices.contains(where: { $0.name == reference }) else {
                throw ControlError(
                    .invalidRequest, "`\(reference.prefix(80))` is not a device id: \(error.text)", path: reference)
            }
            return try device(reference).id
        }
    }
}
