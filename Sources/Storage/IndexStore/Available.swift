import BlockExchange
import GRDB

/// Whether connected devices have what is not present.
extension IndexStore {
    /// Names that one question looks at before it is given up.
    package static let availableLookLimit = 500

    /// Whether one of `devices` has a file at or below `path` that is not present on this disk; nil if the first
    /// `availableLookLimit` names do not tell.
    ///
    /// - Parameter isSelected: only files that are selected count; else all that are not present.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func isAvailable(
        _ folder: FolderID, below path: String, isSelected: Bool, on devices: Set<DeviceID>
    ) async throws -> Bool? {
        guard !devices.isEmpty else { return false }
        return try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            var walk = try TreeWalk(database, folder: row, below: path, after: nil)
            for _ in 0..<Self.availableLookLimit {
                guard let step = try walk.next() else { return false }
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
                if entry.holders.contains(where: devices.contains) { return true }
            }
            return nil
        }
    }
}
