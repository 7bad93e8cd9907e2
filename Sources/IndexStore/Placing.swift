import BlockExchange
import GRDB

/// What this device is about to put into its place.
///
/// Between the moment when a file is in its place and the transaction that says so, a process may die. What was noted
/// here tells the next one that what it finds there is that version and no change made here, even if the winner is
/// another by then.
extension IndexStore {
    /// Notes versions right before they are put into their places; the last one of each name counts. Blocks are not
    /// kept.
    public func notePlacing(_ files: [FileInfo], in folder: FolderID) async throws {
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
        }
    }

    /// What was noted and is not over, by name; without blocks.
    public func placing(in folder: FolderID) async throws -> [String: FileInfo] {
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
            var files: [String: FileInfo] = [:]
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
    @discardableResult
    public func applyLocal(
        in folder: FolderID, _ changes: [LocalChange], placed: some Sequence<String> & Sendable,
        isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> ApplyResult {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let delete = try RawStatement(database, "DELETE FROM placing WHERE folder = ?1 AND name = ?2")
            for name in placed {
                try delete.bind(1, row.number)
                try delete.bind(2, name)
                try delete.run()
            }
            return try Self.apply(changes, row, database, isIgnored)
        }
    }
}
