import BlockExchange
import GRDB

/// Folders, whose index of them is known up to where, and how they come and go.
extension IndexStore {
    /// Where this device's own index of a folder stands.
    package struct IndexState: Equatable, Sendable {
        package var indexID: IndexID
        package var maxSequence: Int64

        package init(indexID: IndexID, maxSequence: Int64) {
            self.indexID = indexID
            self.maxSequence = maxSequence
        }
    }

    /// Adds a folder with `newIndexID`, a random number, as the id of this device's index; a folder that is there keeps
    /// its own id and takes the label.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func addFolder(_ folder: FolderID, newIndexID: IndexID, label: String = "") async throws {
        try await write { database in
            if let existing = try Folder.findIfPresent(folder, in: database) {
                let update = try RawStatement(database, "UPDATE folder SET label = ?2 WHERE number = ?1")
                try update.bind(1, existing.number)
                try update.bind(2, label)
                try update.run()
                return
            }
            // No number of a folder that is being removed: rows are still found by it.
            let insert = try RawStatement(
                database,
                """
                INSERT INTO folder (
                    number, id, label, root, indexID, sequence, localFiles, localDirectories, localBytes
                ) SELECT coalesce(max(number), 0) + 1, ?1, ?2, 0, ?3, 0, 0, 0, 0 FROM (
                    SELECT number FROM folder UNION ALL SELECT folder FROM removal
                )
                """)
            try insert.bind(1, folder.rawValue)
            try insert.bind(2, label)
            try insert.bind(3, Int64(bitPattern: newIndexID.rawValue))
            try insert.run()
            let number = insert.lastInsertedRowID
            let root = try RawStatement(database, "INSERT INTO entry (folder, name) VALUES (?1, '')")
            try root.bind(1, number)
            try root.run()
            let update = try RawStatement(database, "UPDATE folder SET root = ?2 WHERE number = ?1")
            try update.bind(1, number)
            try update.bind(2, root.lastInsertedRowID)
            try update.run()
        }
    }

    /// Forgets a folder and all that was announced of it; one that is not there is no error.
    ///
    /// The first transaction removes the folder itself, which can then be added again. Its rows go in many more. If the task is
    /// cancelled or the process ends between them, `finishRemovals` removes the remaining ones.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func removeFolder(_ folder: FolderID) async throws {
        try await beginRemoval(of: folder)
        try await finishRemovals()
    }

    /// The first transaction of `removeFolder`.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func beginRemoval(of folder: FolderID) async throws {
        try await write { database in
            guard let row = try Folder.findIfPresent(folder, in: database) else { return }
            let note = try RawStatement(database, "INSERT INTO removal (folder, root) VALUES (?1, ?2)")
            try note.bind(1, row.number)
            try note.bind(2, row.root)
            try note.run()
            let delete = try RawStatement(database, "DELETE FROM folder WHERE number = ?1")
            try delete.bind(1, row.number)
            try delete.run()
        }
    }

    /// Removes what is left of folders whose removal was begun; several calls may overlap.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func finishRemovals() async throws {
        var isOver = false
        while !isOver {
            isOver = try await write { database in
                guard let removal = try FolderRemoval.next(database) else { return true }
                try removal.removeSome(database)
                return false
            }
        }
    }

    /// The ids of all folders, in order, with their labels.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func folders() async throws -> [(folder: FolderID, label: String)] {
        try await read { database in
            let statement = try RawStatement(database, "SELECT id, label FROM folder ORDER BY id")
            var folders: [(folder: FolderID, label: String)] = []
            while try statement.step() { folders.append((FolderID(statement.text(0)), statement.text(1))) }
            return folders
        }
    }

    /// All folders, each with the devices that announced something in it or exchanged promises about it.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func knownDevices() async throws -> [FolderID: Set<DeviceID>] {
        try await read { database in
            let select = try RawStatement(
                database,
                """
                SELECT folder.id, known.device FROM folder LEFT JOIN (
                    SELECT folder, device FROM announcer UNION SELECT folder, device FROM keepPeer
                ) AS known ON known.folder = folder.number
                """)
            defer { select.reset() }
            var known: [FolderID: Set<DeviceID>] = [:]
            while try select.step() {
                let folder = FolderID(select.text(0))
                known[folder, default: []].formUnion(select.isNull(1) ? [] : [try Self.device(select, 1)])
            }
            return known
        }
    }

    /// This device's index id and highest sequence in `folder`.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localIndex(of folder: FolderID) async throws -> IndexState {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            return IndexState(indexID: row.indexID, maxSequence: row.sequence)
        }
    }

    /// The sequence of the last entry that this device announces of `folder`; 0 if it announces none. Whoever has that one
    /// has all. Below `maxSequence` where the last ones were withdrawn.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func lastAnnounced(of folder: FolderID) async throws -> Int64 {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT max(sequence) FROM own WHERE folder = ?1")
            try select.bind(1, row.number)
            return try select.first { $0.integer(0) } ?? 0
        }
    }

    /// What is known of the index that `device` has of `folder`; nil if it has to send it from the start.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func remoteIndex(of folder: FolderID, device: DeviceID) async throws -> IndexState? {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            guard let announcer = try Announcer.find(device, in: row, database), announcer.indexID != .none else {
                return nil
            }
            return IndexState(indexID: announcer.indexID, maxSequence: announcer.maxSequence)
        }
    }

    /// Says which index `device` has of `folder` now; another id than before drops all that the device announced.
    ///
    /// Dropping goes in several transactions and may be cancelled between them; the id is then unknown, so that
    /// `remoteIndex` asks for the whole index and the rest is dropped with it. Calls about one device in one folder
    /// must not overlap.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`. The id may be unknown
    ///   then.
    package func setRemoteIndex(of folder: FolderID, device: DeviceID, to indexID: IndexID) async throws {
        let isSame = try await read { database in
            let row = try Folder.find(folder, in: database)
            return try Announcer.find(device, in: row, database)?.indexID == indexID && indexID != .none
        }
        if isSame { return }
        try await dropAnnouncements(of: device, in: folder)
        try await write { database in
            let row = try Folder.find(folder, in: database)
            var announcer = try Announcer.ensure(device, in: row, database)
            announcer.indexID = indexID
            announcer.maxSequence = 0
            try announcer.save(database)
        }
    }

    /// Says which index that was that `device` has announced so far; nothing is dropped.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func nameRemoteIndex(of folder: FolderID, device: DeviceID, as indexID: IndexID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            var announcer = try Announcer.ensure(device, in: row, database)
            announcer.indexID = indexID
            try announcer.save(database)
        }
    }

    /// Forgets all that `device` announced, in `folder` when it shares that no longer, or everywhere (and when it was
    /// seen, and which folders it offers) when it is removed.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` if a folder is removed meanwhile); `CancellationError`. What was
    ///   dropped before stays dropped.
    package func dropDevice(_ device: DeviceID, in folder: FolderID? = nil) async throws {
        let all = try await folders().map(\.folder)
        for folder in all.filter({ folder == nil || $0 == folder }) {
            var left = Int64.max
            repeat {
                try await dropAnnouncements(of: device, in: folder)
                let before = left
                left = try await write { database in
                    let row = try Folder.find(folder, in: database)
                    try Self.forgetKeeping(device, in: row, database)
                    guard let announcer = try Announcer.find(device, in: row, database) else { return 0 }
                    // What a link has stored meanwhile must not be left without its announcer. A count that falls no more is wrong.
                    if announcer.entries > 0, announcer.entries < before { return announcer.entries }
                    let delete = try RawStatement(database, "DELETE FROM announcer WHERE number = ?1")
                    try delete.bind(1, announcer.number)
                    try delete.run()
                    return 0
                }
            } while left > 0
        }
        guard folder == nil else { return }
        try await write { database in
            for (table, column) in [("device", "id"), ("pendingFolder", "device")] {
                let delete = try RawStatement(database, "DELETE FROM \(table) WHERE \(column) = ?1")
                try delete.bind(1, device.digest.bytes)
                try delete.run()
            }
        }
    }

    /// Announcements dropped in one transaction: so many keep the log small and let other writes through.
    private static let dropLimit: Int64 = 5000

    /// Drops what `device` announced in `folder` and forgets which index it was; gives that index's id back.
    @discardableResult
    func dropAnnouncements(of device: DeviceID, in folder: FolderID) async throws -> IndexID {
        defer { unnumberedChanges.add() }
        var after: Int64 = 0
        let indexID = try await write { database in
            let row = try Folder.find(folder, in: database)
            guard var announcer = try Announcer.find(device, in: row, database) else { return IndexID.none }
            let indexID = announcer.indexID
            announcer.indexID = .none
            announcer.maxSequence = 0
            // All of it goes, now or when the device announces its index again.
            announcer.bytes = 0
            try announcer.save(database)
            return indexID
        }
        while let last = try await dropSome(of: device, in: folder, after: after) { after = last }
        return indexID
    }

    /// Drops the next announcements after entry `after`; the last entry dropped, or nil at the end.
    private func dropSome(of device: DeviceID, in folder: FolderID, after: Int64) async throws -> Int64? {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            guard let announcer = try Announcer.find(device, in: row, database), announcer.entries > 0 else {
                return nil
            }
            let select = try RawStatement(
                database,
                "SELECT entry FROM announced WHERE entry > ?1 AND announcer = ?2 ORDER BY entry LIMIT ?3")
            try select.bind(1, after)
            try select.bind(2, announcer.number)
            try select.bind(3, Self.dropLimit)
            var entries: [Int64] = []
            while try select.step() { entries.append(select.integer(0)) }
            let writer = try FolderWriter(database, folder: row, announcer: announcer.number)
            for entry in entries { try writer.withdraw(entry) }
            _ = try writer.finish(database)
            return entries.last
        }
    }
}
