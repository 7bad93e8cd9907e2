import BlockExchange
import GRDB

/// What other devices said of how much of a folder they keep.
extension IndexStore {
    /// Notes what `device` said, as a number that means something to the caller.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteMode(_ mode: Int64, of device: DeviceID, in folder: FolderID) async throws {
        try await write { database in
            let announcer = try Announcer.ensure(device, in: try Folder.find(folder, in: database), database)
            let update = try RawStatement(database, "UPDATE announcer SET mode = ?2 WHERE number = ?1")
            try update.bind(1, announcer.number)
            try update.bind(2, mode)
            try update.run()
        }
    }

    /// What each device that ever announced something of `folder` said last; 0 for nothing.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func modes(in folder: FolderID) async throws -> [DeviceID: Int64] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT device, mode FROM announcer WHERE folder = ?1")
            try select.bind(1, row.number)
            defer { select.reset() }
            var modes: [DeviceID: Int64] = [:]
            while try select.step() {
                var reader = ByteReader(select.bytes(0))
                modes[DeviceID(digest: try reader.digest())] = select.integer(1)
            }
            return modes
        }
    }
}
