import BlockExchange
import GRDB
import Names

/// A file that somebody fetched into its place although it is not selected, as it was put there.
package struct FetchedFile: Equatable, Sendable {
    package var name: String
    /// Bytes; of a symbolic link those of its target.
    package var size: Int64
    package var modifiedSeconds: Int64
    package var modifiedNanoseconds: Int32

    package init(name: String, size: Int64, modifiedSeconds: Int64, modifiedNanoseconds: Int32) {
        self.name = name
        self.size = size
        self.modifiedSeconds = modifiedSeconds
        self.modifiedNanoseconds = modifiedNanoseconds
    }
}

/// Which files were fetched on purpose. A note holds while the file is as it says; scans of the folder take others back.
extension IndexStore {
    /// Notes files, durably with the next commit of the index; a note of the same name is replaced.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteFetched(_ files: [FetchedFile], in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let insert = try RawStatement(
                database,
                """
                INSERT OR REPLACE INTO fetched (folder, name, size, modified, nanoseconds)
                VALUES (?1, ?2, ?3, ?4, ?5)
                """)
            for file in files {
                try Self.bind(file, of: row, to: insert)
                try insert.run()
            }
        }
    }

    /// The notes of these names, by name.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func fetched(_ names: [String], in folder: FolderID) async throws -> [NameKey: FetchedFile] {
        guard !names.isEmpty else { return [:] }
        return try await read { try Self.fetched(names, in: folder, $0) }
    }

    /// The same at once. Blocks its thread.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func fetchedNow(_ names: [String], in folder: FolderID) throws -> [NameKey: FetchedFile] {
        guard !names.isEmpty else { return [:] }
        return try readNow { try Self.fetched(names, in: folder, $0) }
    }

    private static func fetched(
        _ names: [String], in folder: FolderID, _ database: Database
    ) throws -> [NameKey: FetchedFile] {
        let row = try Folder.find(folder, in: database)
        let select = try RawStatement(
            database, "SELECT name, size, modified, nanoseconds FROM fetched WHERE folder = ?1 AND name = ?2")
        var found: [NameKey: FetchedFile] = [:]
        for name in names {
            try select.bind(1, row.number)
            try select.bind(2, name)
            if let file = try select.first({ Self.fetchedFile($0) }) { found[name] = file }
        }
        return found
    }

    /// The next `limit` notes of a folder, by the bytes of the names.
    ///
    /// - Parameters:
    ///   - directory: only of files below it; all for nil.
    ///   - after: the name of the last note of the page before; nil for the first page.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func fetched(
        in folder: FolderID, below directory: String? = nil, after: String? = nil, limit: Int
    ) async throws -> [FetchedFile] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database,
                """
                SELECT name, size, modified, nanoseconds FROM fetched
                WHERE folder = ?1 AND name > ?2 AND name < ?3 ORDER BY name LIMIT ?4
                """)
            try select.bind(1, row.number)
            // "0" is the character behind "/"; no valid name begins with a greater one than U+10FFFF.
            try select.bind(2, after ?? directory.map { $0 + "/" } ?? "")
            try select.bind(3, directory.map { $0 + "0" } ?? "\u{10FFFF}\u{10FFFF}")
            try select.bind(4, Int64(limit))
            defer { select.reset() }
            var found: [FetchedFile] = []
            while try select.step() { found.append(Self.fetchedFile(select)) }
            return found
        }
    }

    /// Takes notes back; one that was made anew since, of another file, stays.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func forgetFetched(_ files: [FetchedFile], in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let delete = try RawStatement(
                database,
                """
                DELETE FROM fetched
                WHERE folder = ?1 AND name = ?2 AND size = ?3 AND modified = ?4 AND nanoseconds = ?5
                """)
            for file in files {
                try Self.bind(file, of: row, to: delete)
                try delete.run()
            }
        }
    }

    private static func bind(_ file: FetchedFile, of folder: Folder, to statement: borrowing RawStatement) throws {
        try statement.bind(1, folder.number)
        try statement.bind(2, file.name)
        try statement.bind(3, file.size)
        try statement.bind(4, file.modifiedSeconds)
        try statement.bind(5, Int64(file.modifiedNanoseconds))
    }

    private static func fetchedFile(_ row: borrowing RawStatement) -> FetchedFile {
        FetchedFile(
            name: row.text(0), size: row.integer(1), modifiedSeconds: row.integer(2),
            modifiedNanoseconds: Int32(truncatingIfNeeded: row.integer(3)))
    }
}
