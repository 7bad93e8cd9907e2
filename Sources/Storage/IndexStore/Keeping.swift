import BlockExchange
import GRDB

/// Who promised whom to keep which version (docs/decisions/space.md). What is written here survives a loss of power only after
/// `makeDurable`.
extension IndexStore {
    /// What is noted of each of `names`, in their order.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func keepRows(in folder: FolderID, names: [String]) async throws -> [[KeepRow]] {
        try await read { database in
            let table = try KeepTable(database, folder: try Folder.find(folder, in: database))
            return try names.map { try table.rows(of: $0) }
        }
    }

    /// Changes what is noted of each of `names`, all in one transaction with what is known of the names.
    ///
    /// - Parameters:
    ///   - device: the one that asks, where `body` may give it promises.
    ///   - body: called once for each name, with its position; true if it has given `device` a promise.
    /// - Returns: how many transactions have given `device` a promise, this one included.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`; what `body` throws.
    @discardableResult
    package func changeKeepRows(
        in folder: FolderID, names: [String], for device: DeviceID? = nil,
        _ body: @Sendable (_ position: Int, NameFacts, inout [KeepRow]) throws -> Bool
    ) async throws -> Int64 {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let table = try KeepTable(database, folder: row)
            let reader = try IndexReader(database, folder: row)
            let need = try NeedReader(database, reader)
            var isCounted = false
            for (position, name) in names.enumerated() {
                let facts = try reader.find(name).map { try need.facts(of: $0.id, path: name) } ?? NameFacts(name: name)
                let before = try table.rows(of: name)
                var rows = before
                if try body(position, facts, &rows) { isCounted = true }
                if rows != before { try table.replace(name, with: rows) }
            }
            guard let device else { return 0 }
            if isCounted {
                try Self.change(device, row, database, "promises = promises + 1")
            }
            let select = try RawStatement(
                database, "SELECT promises FROM keepPeer WHERE folder = ?1 AND device = ?2")
            try select.bind(1, row.number)
            try select.bind(2, device.digest.bytes)
            return try select.first { $0.integer(0) } ?? 0
        }
    }

    /// The names with a note about `device` that has one of `standings`, in order.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func keepNames(
        in folder: FolderID, device: DeviceID, isGiven: Bool, standings: [Int64], after: String, limit: Int
    ) async throws -> [String] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let numbers = standings.map(String.init).joined(separator: ", ")
            let select = try RawStatement(
                database,
                """
                SELECT name FROM keepNote
                WHERE folder = ?1 AND device = ?2 AND isGiven = ?3 AND standing IN (\(numbers)) AND name > ?4
                ORDER BY name LIMIT ?5
                """)
            try select.bind(1, row.number)
            try select.bind(2, device.digest.bytes)
            try select.bind(3, isGiven ? 1 : 0)
            try select.bind(4, after)
            try select.bind(5, Int64(limit))
            defer { select.reset() }
            var names: [String] = []
            while try select.step() { names.append(select.text(0)) }
            return names
        }
    }

    // MARK: devices

    /// How often this device has promised `device` something.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func promiseCount(for device: DeviceID, in folder: FolderID) async throws -> Int64 {
        try await changeKeepRows(in: folder, names: [], for: device) { _, _, _ in false }
    }

    /// Notes how often `device` has promised this one something, as an answer says.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteHeardPromises(_ count: Int64, of device: DeviceID, in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            try Self.change(device, row, database, "heard = max(heard, ?3)", count)
        }
    }

    /// Notes what `device` states: how much it keeps, and how often it has promised this device something. If that is less than it
    /// was before, the device has lost its notes, and all that it promised is forgotten here.
    ///
    /// - Returns: whether that is so.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteStatement(
        mode: Int64, promiseCount: Int64, of device: DeviceID, in folder: FolderID
    ) async throws -> Bool {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let announcer = try Announcer.ensure(device, in: row, database)
            let update = try RawStatement(database, "UPDATE announcer SET mode = ?2 WHERE number = ?1")
            try update.bind(1, announcer.number)
            try update.bind(2, mode)
            try update.run()
            let select = try RawStatement(database, "SELECT heard FROM keepPeer WHERE folder = ?1 AND device = ?2")
            try select.bind(1, row.number)
            try select.bind(2, device.digest.bytes)
            let heard = try select.first { $0.integer(0) } ?? 0
            try Self.change(device, row, database, "heard = ?3", promiseCount)
            guard promiseCount < heard else { return false }
            let delete = try RawStatement(
                database, "DELETE FROM keepNote WHERE folder = ?1 AND device = ?2 AND isGiven = 0")
            try delete.bind(1, row.number)
            try delete.bind(2, device.digest.bytes)
            try delete.run()
            return true
        }
    }

    private static func change(
        _ device: DeviceID, _ folder: Folder, _ database: Database, _ assignment: String, _ value: Int64? = nil
    ) throws {
        let insert = try RawStatement(
            database, "INSERT OR IGNORE INTO keepPeer (folder, device) VALUES (?1, ?2)")
        try insert.bind(1, folder.number)
        try insert.bind(2, device.digest.bytes)
        try insert.run()
        let update = try RawStatement(
            database, "UPDATE keepPeer SET \(assignment) WHERE folder = ?1 AND device = ?2")
        try update.bind(1, folder.number)
        try update.bind(2, device.digest.bytes)
        if let value { try update.bind(3, value) }
        try update.run()
    }

    // MARK: this device's mode

    /// What this device keeps of a folder, and who has heard of it.
    package struct OwnMode: Equatable, Sendable {
        /// A number to which the caller gives a meaning.
        package var mode: Int64
        /// Unix seconds since when that is so; nil if it was never otherwise.
        package var since: Int64?
        package var told: Set<DeviceID>
    }

    /// Notes what this device keeps of a folder from `now` on, in unix seconds, unless that is noted already.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteOwnMode(_ mode: Int64, in folder: FolderID, at now: Int64) async throws -> OwnMode {
        if let known = try await ownMode(in: folder), known.mode == mode { return known }
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let known = try RawStatement(
                database, "SELECT 1 FROM keepFolder WHERE folder = ?1 UNION SELECT 1 FROM announcer WHERE folder = ?1")
            try known.bind(1, row.number)
            // Nobody can have heard anything else of a folder that nobody has ever announced anything of.
            let isNew = try known.first { _ in true } == nil
            let replace = try RawStatement(
                database, "INSERT OR REPLACE INTO keepFolder (folder, mode, since) VALUES (?1, ?2, ?3)")
            try replace.bind(1, row.number)
            try replace.bind(2, mode)
            try replace.bind(3, isNew ? nil : now)
            try replace.run()
            let forget = try RawStatement(database, "UPDATE keepPeer SET hasHeardMode = 0 WHERE folder = ?1")
            try forget.bind(1, row.number)
            try forget.run()
        }
        return try await ownMode(in: folder) ?? OwnMode(mode: mode, since: now, told: [])
    }

    private func ownMode(in folder: FolderID) async throws -> OwnMode? {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT mode, since FROM keepFolder WHERE folder = ?1")
            try select.bind(1, row.number)
            guard
                var own = try select.first({
                    OwnMode(mode: $0.integer(0), since: $0.optionalInteger(1), told: [])
                })
            else { return nil }
            let told = try RawStatement(
                database, "SELECT device FROM keepPeer WHERE folder = ?1 AND hasHeardMode = 1")
            try told.bind(1, row.number)
            defer { told.reset() }
            while try told.step() {
                var reader = ByteReader(told.bytes(0))
                own.told.insert(DeviceID(digest: try reader.digest()))
            }
            return own
        }
    }

    /// `device` has heard that this one keeps what `mode` says; of no account if it keeps something else by now.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteTold(_ device: DeviceID, mode: Int64, in folder: FolderID) async throws {
        guard let own = try await ownMode(in: folder), own.mode == mode, !own.told.contains(device) else { return }
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(database, "SELECT mode FROM keepFolder WHERE folder = ?1")
            try select.bind(1, row.number)
            guard try select.first({ $0.integer(0) }) == mode else { return }
            try Self.change(device, row, database, "hasHeardMode = 1")
        }
    }

    // MARK: the end

    /// Forgets what was promised between this device and another one, in one folder or in all.
    static func forgetKeeping(_ device: DeviceID, in folder: Folder, _ database: Database) throws {
        for table in ["keepNote", "keepPeer"] {
            let delete = try RawStatement(database, "DELETE FROM \(table) WHERE folder = ?1 AND device = ?2")
            try delete.bind(1, folder.number)
            try delete.bind(2, device.digest.bytes)
            try delete.run()
        }
    }
}
