import BlockExchange
import GRDB

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

/// Which files were fetched on purpose. A note holds for as long as the file is as it says; whoever meets another file takes
/// the note back.
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
                try insert.bind(1, row.number)
                try insert.bind(2, file.name)
                try insert.bind(3, file.size)
                try insert.bind(4, file.modifiedSeconds)
                try insert.bind(5, Int64(file.modifiedNanoseconds))
                try insert.run()
            }
        }
    }

    /// The notes of these names, by name.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func fetched(_ names: [String], in folder: FolderID) async throws -> [String: FetchedFile] {
        guard !names.isEmpty else { return [:] }
        return try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database, "SELECT name, size, modified, nanoseconds FROM fetched WHERE folder = ?1 AND name = ?2")
            var found: [String: FetchedFile] = [:]
            for name in names {
                try select.bind(1, row.number)
                try select.bind(2, name)
                if let file = try select.first({ Self.fetchedFile($0) }) { found[name] = file }
            }
            return found
        }
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

    /// Takes notes back.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func forgetFetched(_ names: [String], in folder: FolderID) async throws {
        guard !names.isEmpty else { return }
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let delete = try RawStatement(database, "DELETE FROM fetched WHERE folder = ?1 AND name = ?2")
            for name in names {
                try delete.bind(1, row.number)
                try delete.bind(2, name)
                try delete.run()
            }
        }
    }

    private static func fetchedFile(_ row: borrowing RawStatement) -> FetchedFile {
        FetchedFile(
            name: row.text(0), size: row.integer(1), modifiedSeconds: row.integer(2),
            modifiedNanoseconds: Int32(truncatingIfNeeded: row.integer(3)))
    }
}
