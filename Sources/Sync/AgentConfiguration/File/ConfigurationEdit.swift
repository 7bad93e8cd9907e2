import BlockExchange

/// A change of the configuration file.
package enum ConfigurationEdit: Equatable, Sendable {
    /// Also removes it from what is ignored.
    case addDevice(DeviceConfiguration)
    case renameDevice(DeviceID, name: String)
    /// Who says where a device is has it for its own: nobody takes it back.
    case setAddresses(DeviceID, [String])
    /// Takes the device out of all folders too.
    case removeDevice(DeviceID)
    /// Also removes it from what is ignored.
    case addFolder(FolderConfiguration)
    /// `until` in seconds since 1970; nil: until told otherwise.
    case setFolderPaused(FolderID, Bool, until: Int64? = nil)
    /// A device that went over a quota stays paused for it, without an end, until it is resumed.
    case setDevicePaused(DeviceID, Bool, until: Int64? = nil)
    /// The device went over a quota.
    case pauseDevice(DeviceID, over: DeviceQuota)
    case setFolderDevices(FolderID, [DeviceID])
    /// Of a device that the folder is shared with.
    case setFolderRole(FolderID, DeviceID, DeviceRole)
    /// Notes that a device keeps the folder encrypted, whether or not it is shared with it.
    case distrust(FolderID, DeviceID)
    /// The device may have the folder unencrypted again.
    case trust(FolderID, DeviceID)
    case setFolderMode(FolderID, FolderConfiguration.Mode)
    /// Nil leaves either as it is.
    case setFolderBluetooth(FolderID, BluetoothUse?, limit: Int64?)
    case setDeviceBluetooth(DeviceID, BluetoothUse)
    case setFolderRelays(FolderID, Bool)
    /// Shares the folder with one more. What an introducer shares stays its own to unshare; what the user shares does not.
    case shareFolder(FolderID, DeviceID, introducedBy: DeviceID? = nil)
    /// Without effect for a device that the folder is not shared with.
    case unshareFolder(FolderID, DeviceID)
    case setIntroducer(DeviceID, Bool)
    case setSkipsIntroductionRemovals(DeviceID, Bool)
    case setAllowedNetworks(DeviceID, [String])
    case setDeviceRates(DeviceID, TransferLimits.Rates)
    /// Nil: as many as all devices.
    case setDeviceConnections(DeviceID, Int?)
    /// Without effect if it is so already.
    case setDeviceIgnored(DeviceID, Bool)
    /// Without effect if it is so already.
    case setFolderIgnored(IgnoredFolder, Bool)
    case setNetwork(Configuration.NetworkSwitch, Bool)
    /// All of them or none.
    case set(SettingTarget, [SettingAssignment])
    /// Files stay untouched.
    case removeFolder(FolderID)
}

extension ConfigurationEdit {
    /// What `configuration` is after the edit.
    ///
    /// Throws without a file or line: `noSuchDevice`, `noSuchFolder`, `duplicate`, `nestedFolder` or `invalidValue`.
    package func applied(to configuration: Configuration) throws(ConfigurationError) -> Configuration {
        var changed = configuration
        switch self {
        case .addDevice(let device):
            guard !configuration.devices.contains(where: { $0.id == device.id }) else {
                throw ConfigurationError(
                    .duplicate,
                    "the device \(device.id) is already known; `synctrain device rename` gives it another name")
            }
            changed.devices.append(device)
            changed.ignored.devices.set(device.id, false)
        case .renameDevice(let id, let name):
            changed.devices[try configuration.index(of: id)].name = name
            try changed.checkName(of: id)
        case .setAddresses(let id, let addresses):
            let index = try configuration.index(of: id)
            changed.devices[index].addresses = addresses
            changed.devices[index].introducedBy = nil
        case .removeDevice(let id):
            changed.devices.remove(at: try configuration.index(of: id))
            for index in changed.folders.indices {
                changed.folders[index].share(with: changed.folders[index].devices.filter { $0 != id })
            }
        case .addFolder(let folder):
            changed.folders.append(folder)
            changed.ignored.folders.removeAll { $0.folder == folder.id }
        case .setFolderPaused(let id, let isPaused, let until):
            let index = try configuration.index(of: id)
            changed.folders[index].isPaused = isPaused
            changed.folders[index].pausedUntil = isPaused ? until : nil
        case .setDevicePaused(let id, let isPaused, let until):
            let index = try configuration.index(of: id)
            changed.devices[index].isPaused = isPaused
            if !isPaused { changed.devices[index].exceededQuota = nil }
            let mayEnd = isPaused && changed.devices[index].exceededQuota == nil
            changed.devices[index].pausedUntil = mayEnd ? until : nil
        case .pauseDevice(let id, let quota):
            let index = try configuration.index(of: id)
            changed.devices[index].isPaused = true
            changed.devices[index].pausedUntil = nil
            changed.devices[index].exceededQuota = quota
        case .setFolderDevices(let id, let devices):
            changed.folders[try configuration.index(of: id)].share(with: devices)
        case .setFolderRole(let id, let device, let role):
            changed.folders[try configuration.index(of: id)].setRole(role, of: device)
        case .distrust(let id, let device):
            changed.folders[try configuration.index(of: id)].distrust(device)
        case .trust(let id, let device):
            changed.folders[try configuration.index(of: id)].distrust(device, false)
        case .setFolderMode(let id, let mode):
            changed.folders[try configuration.index(of: id)].mode = mode
        case .setFolderBluetooth(let id, let use, let limit):
            let index = try configuration.index(of: id)
            if let use { changed.folders[index].bluetooth = use }
            if let limit { changed.folders[index].bluetoothLimit = limit }
        case .setDeviceBluetooth(let id, let use):
            changed.devices[try configuration.index(of: id)].bluetooth = use
        case .setFolderRelays(let id, let uses): changed.folders[try configuration.index(of: id)].usesRelays = uses
        case .shareFolder(let id, let device, let introducer):
            changed.folders[try configuration.index(of: id)].share(with: device, introducedBy: introducer)
        case .unshareFolder(let id, let device):
            let index = try configuration.index(of: id)
            changed.folders[index].share(with: changed.folders[index].devices.filter { $0 != device })
        case .setIntroducer(let id, let isIntroducer):
            changed.devices[try configuration.index(of: id)].isIntroducer = isIntroducer
        case .setSkipsIntroductionRemovals(let id, let skips):
            changed.devices[try configuration.index(of: id)].skipsIntroductionRemovals = skips
        case .setAllowedNetworks(let id, let networks):
            changed.devices[try configuration.index(of: id)].allowedNetworks = networks
        case .setDeviceRates(let id, let rates): changed.devices[try configuration.index(of: id)].rates = rates
        case .setDeviceConnections(let id, let count):
            changed.devices[try configuration.index(of: id)].connections = count
        case .setDeviceIgnored(let id, let isIgnored): changed.ignored.devices.set(id, isIgnored)
        case .setFolderIgnored(let folder, let isIgnored): changed.ignored.folders.set(folder, isIgnored)
        case .setNetwork(let setting, let isOn): changed[keyPath: setting.isOn] = isOn
        case .set(let target, let assignments):
            try changed.assign(assignments, to: target)
            if case .device(let id) = target, assignments.contains(where: { $0.key == "name" }) {
                try changed.checkName(of: id)
            }
        case .removeFolder(let id):
            changed.folders.remove(at: try configuration.index(of: id))
        }
        if let (position, problem) = changed.firstProblem() {
            guard case .set = self, !problem.message.contains("`\(position.key)`") else { throw problem.at(nil) }
            throw ConfigurationError(problem.code, "`\(position.key)`: \(problem.text)")
        }
        return changed
    }
}

extension Configuration {
    /// A name that two devices have names neither of them.
    fileprivate func checkName(of id: DeviceID) throws(ConfigurationError) {
        let name = try device(id.description).name
        guard name.isEmpty || !devices.contains(where: { $0.id != id && $0.name == name }) else {
            throw ConfigurationError(.duplicate, "another device has the name `\(name)`; choose another one")
        }
    }

    fileprivate func index(of id: DeviceID) throws(ConfigurationError) -> Int {
        let device = try device(id.description)
        return devices.firstIndex { $0.id == device.id } ?? devices.startIndex
    }

    fileprivate func index(of id: FolderID) throws(ConfigurationError) -> Int {
        let folder = try folder(id)
        return folders.firstIndex { $0.id == folder.id } ?? folders.startIndex
    }
}

extension Array where Element: Equatable {
    /// Makes an element be in it, at its end, or not.
    fileprivate mutating func set(_ element: Element, _ isIn: Bool) {
        if !isIn {
            removeAll { $0 == element }
        } else if !contains(element) {
            append(element)
        }
    }
}
