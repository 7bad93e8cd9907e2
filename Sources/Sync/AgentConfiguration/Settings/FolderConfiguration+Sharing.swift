import BlockExchange
import Phrases

/// With whom a folder is shared because an introducer said so.
package struct FolderIntroduction: Hashable, Sendable {
    package var device: DeviceID
    /// Who may end the share again.
    package var introducer: DeviceID

    package init(_ device: DeviceID, by introducer: DeviceID) {
        self.device = device
        self.introducer = introducer
    }

    /// As the configuration file has it: `DEVICE-ID by DEVICE-ID`.
    var text: String { "\(device) by \(introducer)" }

    /// Reads `text`; nil for anything else.
    init?(text: String) {
        let parts = text.split(separator: " by ", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = try? DeviceID(parsing: String(parts[0])),
            let introducer = try? DeviceID(parsing: String(parts[1]))
        else { return nil }
        self.init(device, by: introducer)
    }
}

extension FolderConfiguration {
    /// Whose introduction shared the folder with `device`; nil if the user did, or nobody.
    package func introducer(of device: DeviceID) -> DeviceID? {
        introductions.first { $0.device == device }?.introducer
    }

    /// Shares the folder with one more. A share that the user made is not an introducer's to end; one that an introducer
    /// made becomes the user's own where `introducer` is nil.
    mutating func share(with device: DeviceID, introducedBy introducer: DeviceID?) {
        let isShared = devices.contains(device)
        if !isShared { devices.append(device) }
        guard let introducer else {
            introductions.removeAll { $0.device == device }
            return
        }
        if !isShared { introductions.append(FolderIntroduction(device, by: introducer)) }
    }

    func introductionsProblem() -> (key: String, problem: SettingProblem)? {
        var seen: Set<DeviceID> = []
        for introduction in introductions {
            guard devices.contains(introduction.device) else {
                return (
                    "introduced",
                    SettingProblem(
                        .noSuchDevice,
                        "the folder `\(id)` is not shared with the device \(introduction.device); add it to `devices`, "
                            + "or remove it here")
                )
            }
            guard seen.insert(introduction.device).inserted else {
                return (
                    "introduced",
                    SettingProblem(
                        .duplicate,
                        "the device \(introduction.device) is listed twice in `introduced`; remove one entry")
                )
            }
        }
        return nil
    }
}
