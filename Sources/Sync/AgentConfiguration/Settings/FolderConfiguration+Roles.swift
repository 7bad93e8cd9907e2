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

    /// Shares the folder with these and with no others; who goes loses its role.
    mutating func share(with devices: [DeviceID]) {
        self.devices = devices
        readers.removeAll { !devices.contains($0) }
        admins.removeAll { !devices.contains($0) }
        untrusted.removeAll { !devices.contains($0) }
        introductions.removeAll { !devices.contains($0.device) }
    }

    /// Notes that `device` must not get the folder unencrypted; without effect for one that does not share it.
    mutating func distrust(_ device: DeviceID) {
        guard devices.contains(device), !untrusted.contains(device) else { return }
        untrusted.append(device)
    }

    func rolesProblem() -> (key: String, problem: SettingProblem)? {
        var seen: Set<DeviceID> = []
        for (key, list) in [("readers", readers), ("admins", admins), ("untrusted", untrusted)] {
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
                guard key == "untrusted" || seen.insert(device).inserted else {
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
