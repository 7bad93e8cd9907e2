import AgentConfiguration
import BlockExchange
import IndexStore

/// Forgets indexes while no agent runs.
package enum IndexReset {
    /// Removes the whole index, readable or not, or what it has of one folder. Files stay untouched; the next start
    /// gets the index from the peers again. Throws `ConfigurationError` while an agent runs.
    package static func run(_ places: AgentPlaces, folder: FolderID?) async throws {
        let lock = try AgentLock.take(places)
        defer { withExtendedLifetime(lock) {} }
        guard let folder else { return try IndexStore.erase(path: places.index) }
        _ = try ConfigurationFile(places).load().folder(folder)
        let index = try IndexStore.open(path: places.index)
        try await index.removeFolder(folder)
        try index.close()
    }

    /// Forgets folders and devices that were just removed from the configuration, and what is there of earlier folders with the id of
    /// one that was just added: the next start would take that for the new one's, and what is missing for deleted. An agent that runs
    /// by now, or an index that is not there, has nothing to forget. The rows of a folder go with the next start.
    ///
    /// - Parameter isUnwanted: whether the user removed the folders: then no admin's offer brings them back.
    /// - Throws: `IndexStoreError`; `ConfigurationError` if the lock of the agent cannot be taken; `CancellationError`.
    package static func forget(
        folders: [FolderID] = [], isUnwanted: Bool = false, devices: [DeviceID] = [], in places: AgentPlaces
    ) async throws {
        guard IndexStore.isThere(path: places.index) else { return }
        let lock: AgentLock
        do throws(ConfigurationError) {
            lock = try AgentLock.take(places)
        } catch {
            guard error.code == .busy else { throw error }
            return
        }
        defer { withExtendedLifetime(lock) {} }
        let index = try IndexStore.open(path: places.index)
        for folder in folders {
            try await index.setDeclined(folder, isUnwanted)
            try await index.beginRemoval(of: folder)
        }
        for device in devices { try await index.dropDevice(device) }
        try index.close()
    }
}
