import AgentConfiguration
import AsyncTools
import BlockExchange
import IndexStore

/// Stores devices that were paired.
struct PairedDevices: Sendable {
    let changes: ConfigurationChanges
    let index: IndexStore

    /// As `addDevice` and `addFolder`, in one change of the configuration.
    ///
    /// Done to its end although who paired may have gone: the other device stores this one at the same time.
    func store(_ device: PairedDevice) async throws {
        try await uncancelled {
            try await changes.edit { try $0.edits(storing: device, role: nil) }
            try await index.forgetPending(device.id)
        }
    }
}

extension Configuration {
    /// Adds a device and shares folders with it. A device that is known keeps its name, and gets the new addresses beside its own.
    ///
    /// - parameter role: what it may do in the folders; nil leaves that as it is.
    /// - Throws: `ConfigurationError` for a folder that is not there.
    func edits(storing device: PairedDevice, role: DeviceRole?) throws -> [ConfigurationEdit] {
        var edits = edits(
            storing: DeviceConfiguration(id: device.id, name: device.name, addresses: device.addresses))
        for id in device.folders {
            let folder = try folder(id)
            if !folder.devices.contains(device.id) {
                edits.append(.setFolderDevices(id, folder.devices + [device.id]))
            }
            if let role, folder.role(of: device.id) != role || !folder.devices.contains(device.id) {
                edits.append(.setFolderRole(id, device.id, role))
            }
        }
        return edits
    }

    /// Adds a device; to one that is known, its new addresses. One that another device introduced becomes the user's own, and what
    /// that one said of its addresses goes.
    func edits(storing device: DeviceConfiguration) -> [ConfigurationEdit] {
        guard let known = devices.first(where: { $0.id == device.id }) else { return [.addDevice(device)] }
        guard known.introducedBy == nil else { return [.setAddresses(device.id, device.addresses)] }
        let new = device.addresses.filter { !known.addresses.contains($0) }
        return new.isEmpty ? [] : [.setAddresses(device.id, known.addresses + new)]
    }
}
