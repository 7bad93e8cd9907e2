import AgentConfiguration
import BlockExchange

extension FolderSession {
    /// Makes the index refuse what devices announce that may only read. Before links exchange anything of the folder.
    func applyRoles(_ configuration: FolderConfiguration) async throws {
        let result = try await index.setReaders(
            of: id, to: Set(configuration.readers),
            writers: Set(configuration.devices).subtracting(configuration.readers), isIgnored: ignores())
        guard result.applied > 0 else { return }
        ownIndexChanged()
        engine?.indexChanged()
    }
}

extension FolderConfiguration {
    /// The roles other than `write`, by device id, for `status`.
    var rolesByDevice: [String: String] {
        Dictionary(
            devices.compactMap { device in
                let role = role(of: device)
                return role == .write ? nil : (device.description, role.rawValue)
            }, uniquingKeysWith: { first, _ in first })
    }
}
