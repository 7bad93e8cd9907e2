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
}
