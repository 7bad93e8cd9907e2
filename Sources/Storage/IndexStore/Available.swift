import BlockExchange
import GRDB

/// Whether connected devices have what is not present.
extension IndexStore {
    /// Names that one question looks at before it is given up.
    package static let availableLookLimit = 500

    /// Whether one of `devices` has a file below the directory that is not present on this disk; nil if the first names do not
    /// tell. And how many names were looked at.
    ///
    /// - Parameters:
    ///   - isSelected: only files that are selected count; else all that are not present.
    ///   - limit: so many names are looked at.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func isAvailable(
        _ folder: FolderID, below path: String, isSelected: Bool, on devices: Set<DeviceID>,
        limit: Int = IndexStore.availableLookLimit
    ) async throws -> (isAvailable: Bool?, looks: Int) {
        guard !devices.isEmpty else { return (false, 0) }
        return try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            var walk = try TreeWalk(database, folder: row, below: path, after: nil)
            for look in 0..<max(0, limit) {
                guard let step = try walk.next() else { return (false, look) }
                let facts = try reader.winnerAndOwn(of: step.id)
                let entry = try reader.entry(step.id, winner: facts.winner, own: facts.own, path: step.path)
                // A directory without anything that counts is not looked into.
                if entry.isDirectory {
                    if isSelected ? entry.selected == entry.present : entry.below == entry.present {
                        walk.skipBelow()
                    }
                    continue
                }
                guard entry.isPresent, !entry.isVerified, !isSelected || entry.isSelected else { continue }
                if entry.holders.contains(where: devices.contains) { return (true, look) }
            }
            return (nil, limit)
        }
    }
}
