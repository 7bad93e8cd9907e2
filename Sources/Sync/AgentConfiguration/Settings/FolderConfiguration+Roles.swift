import BlockExchange
import Phrases

extension FolderConfiguration {
    /// What `device` may do in the folder; `write` unless the folder says otherwise.
    package func role(of device: DeviceID) -> DeviceRole {
        if readers.contains(device) { return .read }
        return admins.contains(device) ? .admin : .write
    }

    mutating func setRole(_ role: DeviceRole, of device: DeviceID) {
        readers.removeAll { $0 == device }
        admins.removeAll { $0 == device }
        switch role {
        case .read: readers.append(device)
        case .write: break
        case .admin: admins.append(device)
        }
    }

    /// Shares the folder with these and with no others; who goes loses its role. That it keeps the folder encrypted is not forgotten:
    /// shared with it again, the folder would be sent to it unencrypted.
    mutating func share(with devices: [DeviceID]) {
        self.devices = devices
        readers.removeAll { !devices.contains($0) }
        admins.removeAll { !devices.contains($0) }
        introductions.removeAll { !devices.contains($0.device) }
    }

    /// Notes that `device` must not get the folder unencrypted, or that it may.
    mutating func distrust(_ device: DeviceID, _ isDistrusted: Bool = true) {
        untrusted.removeAll { $0 == device && !isDistrusted }
        if isDistrusted, !untrusted.contains(device) { untrusted.append(device) }
    }

    func rolesProblem() -> (key: String, problem: SettingProblem)? {
        var seen: Set<DeviceID> = []
        for (key, list) in [("readers", readers), ("admins", admins)] {
            for device in list {
                guard devices.contains(device) else {
                    return (
                        key,
                        SettingProblem(
                            .noSuchDevice,
                            "the folder `\(id)` is not shared with the device \(device); add it to `devices`, or remove "
                                + "it here")
                    )
                }
                guard seen.insert(device).inserted else {
                    return (
                        key,
                        SettingProblem(
                            .duplicate,
                            "the device \(device) is listed twice in `readers` and `admins`; remove one entry, a device has one role"
                        )
                    )
                }
            }
        }
        return nil
    }
}
