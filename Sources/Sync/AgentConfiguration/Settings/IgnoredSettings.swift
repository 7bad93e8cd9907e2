import BlockExchange

/// A folder that is never offered again.
package struct IgnoredFolder: Hashable, Sendable {
    package var folder: FolderID
    /// Whose offers are ignored; nil: everybody's.
    package var device: DeviceID?

    package init(_ folder: FolderID, from device: DeviceID? = nil) {
        self.folder = folder
        self.device = device
    }

    /// As the configuration file has it: `FOLDER` or `FOLDER from DEVICE-ID`.
    var text: String { device.map { "\(folder.rawValue) from \($0)" } ?? folder.rawValue }

    /// Reads `text`. An id of a folder may contain anything, so what follows `from` counts only if it is a device's id.
    init(text: String) {
        let separator = " from "
        if let range = text.ranges(of: separator).last,
            let device = try? DeviceID(parsing: String(text[range.upperBound...]))
        {
            self.init(FolderID(String(text[..<range.lowerBound])), from: device)
        } else {
            self.init(FolderID(text))
        }
    }
}

extension Configuration {
    /// Who and what the user does not want to be asked about again.
    package struct Ignored: Equatable, Sendable {
        package var devices: [DeviceID]
        package var folders: [IgnoredFolder]

        package init(devices: [DeviceID] = [], folders: [IgnoredFolder] = []) {
            self.devices = devices
            self.folders = folders
        }

        /// Whether an unknown device is not to be shown, or an introduced one not to be added.
        package func contains(_ device: DeviceID) -> Bool { devices.contains(device) }

        /// Whether a folder that `device` offers is not to be shown.
        package func contains(_ folder: FolderID, from device: DeviceID) -> Bool {
            devices.contains(device)
                || folders.contains { $0.folder == folder && ($0.device == nil || $0.device == device) }
        }

        func problem() -> (key: String, problem: SettingProblem)? {
            if Set(devices).count < devices.count {
                return ("devices", SettingProblem(.duplicate, "a device is listed twice; remove one"))
            }
            if Set(folders).count < folders.count {
                return ("folders", SettingProblem(.duplicate, "a folder is listed twice; remove one"))
            }
            for folder in folders {
                if let problem = FolderConfiguration.problem(id: folder.folder) { return ("folders", problem) }
            }
            return nil
        }
    }
}
