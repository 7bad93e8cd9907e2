import BlockExchange
import GRDB
import Names

/// What is about to be done at one name of a group; the numbers are the disk's business.
package struct GroupPlacing: Hashable, Sendable {
    package var name: String
    package var source: UInt64
    package var sealed: UInt64
    package var expected: UInt64?

    package init(name: String, source: UInt64, sealed: UInt64, expected: UInt64?) {
        self.name = name
        self.source = source
        self.sealed = sealed
        self.expected = expected
    }
}

/// What this device is about to put into its place.
///
/// Between the moment when a file is in its place and the transaction that says so, a process may die. What was noted
/// here tells the next one that what it finds there is that version and no change made here, even if the winner is
/// another by then.
extension IndexStore {
    /// Notes versions right before they are put into their places; the last one of each name counts. Blocks are not
    /// kept.
    ///
    /// - parameter groups: what is done at the names of each group that changes at once. With any, the note survives a loss
    ///   of power.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`. With groups, the note
    ///   may be stored, and a loss of power may undo that.
    package func notePlacing(
        _ files: [FileInfo], groups: [[GroupPlacing]] = [], in folder: FolderID
    ) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let insert = try RawStatement(
                database,
                """
                INSERT OR REPLACE INTO placing (
                    folder, name, flags, size, permissions, modified, nanoseconds, modifiedBy, version, content, extra)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                """)
            for file in files {
                var (version, content, extra): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
                AnnouncementCoding.append(file.version, to: &version)
                if let hash = file.blocksHash {
                    AnnouncementCoding.append(.block(hash: hash, weakHash: 0), to: &content)
                }
                AnnouncementCoding.appendExtra(of: file, to: &extra)
                try insert.bind(1, row.number)
                try insert.bind(2, file.name)
                try insert.bind(3, AnnouncementCoding.flags(of: file))
                try insert.bind(4, file.size)
                try insert.bind(5, Int64(file.permissions))
                try insert.bind(6, file.modifiedSeconds)
                try insert.bind(7, Int64(file.modifiedNanoseconds))
                try insert.bind(8, Int64(bitPattern: file.modifiedBy.rawValue))
                try insert.bind(9, version)
                // Without a hash NULL, as an empty blob is none.
                try content.isEmpty ? insert.bind(10, Int64?.none) : insert.bind(10, content)
                try insert.bind(11, extra)
                try insert.run()
            }
            guard !groups.isEmpty else { return }
            try Self.note(groups, row, database)
        }
        if !groups.isEmpty { try await makeDurable() }
    }

    private static func note(_ groups: [[GroupPlacing]], _ row: Folder, _ database: Database) throws {
        let last = try RawStatement(database, "SELECT coalesce(max(members), 0) FROM placingGroup WHERE folder = ?1")
        try last.bind(1, row.number)
        var number = try last.first { $0.integer(0) } ?? 0
        let insert = try RawStatement(
            database,
            """
            INSERT OR REPLACE INTO placingGroup (folder, name, members, source, sealed, expected)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """)
        for group in groups {
            number &+= 1
            for placing in group {
                try insert.bind(1, row.number)
                try insert.bind(2, placing.name)
                try insert.bind(3, number)
                try insert.bind(4, Int64(bitPattern: placing.source))
                try insert.bind(5, Int64(bitPattern: placing.sealed))
                try insert.bind(6, placing.expected.map { Int64(bitPattern: $0) })
                try insert.run()
            }
        }
    }

    /// The groups of which it was noted what is about to be done, and that are not over; in the order of their names.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func placingGroups(in folder: FolderID) async throws -> [[GroupPlacing]] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database,
                """
                SELECT members, name, source, sealed, expected, expected IS NULL
                FROM placingGroup WHERE folder = ?1 ORDER BY members, name
                """)
            try select.bind(1, row.number)
            defer { select.reset() }
            var groups: [[GroupPlacing]] = []
            var last: Int64?
            while try select.step() {
                if select.integer(0) != last { groups.append([]) }
                last = select.integer(0)
                groups[groups.count - 1].append(
                    GroupPlacing(
                        name: select.text(1), source: UInt64(bitPattern: select.integer(2)),
                        sealed: UInt64(bitPattern: select.integer(3)),
                        expected: select.integer(5) == 0 ? UInt64(bitPattern: select.integer(4)) : nil))
            }
            return groups
        }
    }

    /// These groups are as they are to be.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func endPlacing(_ groups: [[GroupPlacing]], in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let delete = try RawStatement(database, "DELETE FROM placingGroup WHERE folder = ?1 AND name = ?2")
            for placing in groups.joined() {
                try delete.bind(1, row.number)
                try delete.bind(2, placing.name)
                try delete.run()
            }
        }
    }

    /// What was noted and is not over, by name; without blocks.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func placing(in folder: FolderID) async throws -> [NameKey: FileInfo] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database,
                """
                SELECT 0, 0, flags, size, permissions, modified, nanoseconds, modifiedBy, version, content, extra, name
                FROM placing WHERE folder = ?1
                """)
            try select.bind(1, row.number)
            defer { select.reset() }
            var files: [NameKey: FileInfo] = [:]
            while try select.step() {
                let noted = try AnnouncementCoding.announcement(select)
                var file = noted.file
                file.name = select.text(11)
                if case .block(let hash, _) = noted.content { file.blocksHash = hash }
                files[file.name] = file
            }
            return files
        }
    }

    /// The same as `applyLocal`, and in the same transaction what was noted of `placed` is over, whatever became of it.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    @discardableResult
    package func applyLocal(
        in folder: FolderID, _ changes: [LocalChange], placed: some Sequence<String> & Sendable,
        isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> ApplyResult {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let groups = try RawStatement(database, "SELECT 1 FROM placingGroup WHERE folder = ?1 LIMIT 1")
            try groups.bind(1, row.number)
            let hasGroups = try groups.first { _ in true } ?? false
            for table in hasGroups ? ["placing", "placingGroup"] : ["placing"] {
                let delete = try RawStatement(database, "DELETE FROM \(table) WHERE folder = ?1 AND name = ?2")
                for name in placed {
                    try delete.bind(1, row.number)
                    try delete.bind(2, name)
                    try delete.run()
                }
            }
            return try Self.apply(changes, row, database, isIgnored)
        }
    }
}
