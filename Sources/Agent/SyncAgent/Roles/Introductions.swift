import AgentConfiguration
import BlockExchange
import FileAccess
import LinkRules
import Names

/// What an admin's word of its folders changes in this device's configuration. Pure.
struct Introductions {
    /// Devices that one admin may have added at a time.
    static let deviceLimit = 100
    /// Folders that lie in the place for offers.
    static let folderLimit = 50

    let admin: DeviceID
    let localDevice: DeviceID
    let configuration: Configuration

    /// Whether the device is an admin of any folder.
    var isAdmin: Bool { configuration.folders.contains { $0.role(of: admin) == .admin } }

    /// The edits that share each folder of which it is the admin with the devices that it names as trusted, and stop
    /// sharing it with those that it introduced and no longer names as such. What the user has set of a device stays.
    func edits(for config: ClusterConfig) -> [ConfigurationEdit] {
        var known = Dictionary(
            configuration.devices.map { ($0.id, $0.introducedBy) }, uniquingKeysWith: { first, _ in first })
        var room = Self.deviceLimit - known.values.count { $0 == admin }
        var added: [ConfigurationEdit] = []
        var shared: [ConfigurationEdit] = []
        var sharing = Dictionary(
            configuration.folders.map { ($0.id, $0.devices) }, uniquingKeysWith: { first, _ in first })
        for offered in config.folders {
            guard let folder = configuration.folders.first(where: { $0.id == offered.id }),
                folder.role(of: admin) == .admin
            else { continue }
            // A device with a token keeps the folder encrypted for the admin: it must not get it unencrypted from here.
            let named = offered.devices.filter {
                $0.id != localDevice && $0.id != admin && $0.encryptionPasswordToken.isEmpty
                    && !configuration.ignored.contains($0.id)
            }
            var devices = folder.devices
            let begun = shared.count
            for device in named where !devices.contains(device.id) {
                if known[device.id] == nil {
                    guard room > 0 else { continue }
                    room -= 1
                    known[device.id] = .some(admin)
                    added.append(.addDevice(introduced(device)))
                }
                devices.append(device.id)
                // Devices of the user's own keep their folders; what others introduced shares this one by this admin's word.
                let isOwn = known[device.id] == .some(.none)
                shared.append(.shareFolder(folder.id, device.id, introducedBy: isOwn ? nil : admin))
            }
            let names = Set(named.map(\.id))
            for device in folder.devices where !names.contains(device) {
                guard known[device] == .some(.some(admin)) || folder.introducer(of: device) == admin else { continue }
                devices.removeAll { $0 == device }
                shared.append(.unshareFolder(folder.id, device))
            }
            if shared.count > begun { sharing[folder.id] = devices }
        }
        let used = Set(sharing.values.joined())
        let forgotten = configuration.devices.filter { device in
            // One that never shared a folder was not taken away from any.
            device.introducedBy == admin && !used.contains(device.id)
                && configuration.folders.contains { $0.devices.contains(device.id) }
        }
        return added + shared + forgotten.map { .removeDevice($0.id) }
    }

    private func introduced(_ device: ClusterConfig.Device) -> DeviceConfiguration {
        let name = PairedAddresses.name(device.name)
        return DeviceConfiguration(
            id: device.id, name: name, addresses: IntroducerRule.addresses(device.addresses), introducedBy: admin)
    }

    /// The folders that it offers and that are to be taken, with nothing selected.
    ///
    /// - parameters:
    ///   - declined: folders that the user has removed.
    ///   - place: an absolute directory in which each gets a directory of its own.
    func offers(
        in config: ClusterConfig, declined: Set<FolderID>, place: String
    ) -> [FolderConfiguration] {
        guard isAdmin else { return [] }
        var paths = Set(configuration.folders.map(\.path))
        var room = Self.folderLimit - paths.count { $0.isBelow(place) }
        var taken: [FolderConfiguration] = []
        for offered in config.folders.sorted(by: { $0.id < $1.id }) {
            guard room > 0, !configuration.folders.contains(where: { $0.id == offered.id }),
                !declined.contains(offered.id), !configuration.ignored.contains(offered.id, from: admin),
                offered.stopReason == 0,
                let own = offered.devices.first(where: { $0.id == localDevice }), own.encryptionPasswordToken.isEmpty,
                let path = Self.path(of: offered, in: place, besides: paths)
            else { continue }
            room -= 1
            paths.insert(path)
            taken.append(
                FolderConfiguration(
                    id: offered.id, label: PairedAddresses.name(offered.label), path: path, devices: [admin]))
        }
        return taken
    }

    /// Nil for a folder with whose name no directory can be made.
    private static func path(
        of folder: ClusterConfig.Folder, in place: String, besides paths: Set<String>
    ) -> String? {
        for name in [folder.label, folder.id.rawValue] {
            guard let path = RelativePath(name), path.parent == nil, !path.isInternal, !path.isTemporary,
                !name.hasPrefix("."), !paths.contains(place + "/" + name)
            else { continue }
            return place + "/" + name
        }
        return nil
    }
}
