import AgentConfiguration
import BlockExchange

/// Whom this device follows in which folders. Pure.
enum FollowedDevices {
    /// The introducers and admins whose last word counts for more by the new configuration than by the old one: they were made so, or
    /// share one more folder. They say it again only when they have something new to say.
    static func gaining(from old: Configuration, to new: Configuration) -> Set<DeviceID> {
        let before = following(old)
        return Set(following(new).filter { id, folders in !folders.subtracting(before[id] ?? []).isEmpty }.keys)
    }

    /// The folders in which each is followed.
    private static func following(_ configuration: Configuration) -> [DeviceID: Set<FolderID>] {
        let introducers = Set(configuration.devices.filter(\.isIntroducer).map(\.id))
        var following: [DeviceID: Set<FolderID>] = [:]
        for folder in configuration.folders {
            for device in folder.devices where introducers.contains(device) || folder.role(of: device) == .admin {
                following[device, default: []].insert(folder.id)
            }
        }
        return following
    }
}
