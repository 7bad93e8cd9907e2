import BlockExchange
import Cryptography
import GRDB

/// A file on this disk whose bytes are not those that were hashed, though nothing shows that anybody changed it.
package struct DamagedFile: Equatable, Sendable {
    package var name: String
    package var inode: UInt64
    /// The hash over the blocks that it should have, as `FileInfo.blocksHash`.
    package var expected: SHA256Digest
    /// The hash over those that were read; nil if some could not be read.
    package var found: SHA256Digest?
    package var wrongBlocks: Int64
    package var blocks: Int64
    /// When it was found, in seconds since 1970.
    package var noticed: Int64

    package init(
        name: String, inode: UInt64, expected: SHA256Digest, found: SHA256Digest?, wrongBlocks: Int64, blocks: Int64,
        noticed: Int64
    ) {
        self.name = name
        self.inode = inode
        self.expected = expected
        self.found = found
        self.wrongBlocks = wrongBlocks
        self.blocks = blocks
        self.noticed = noticed
    }
}

/// How far a check of a folder has come, or what it came to.
package struct ScrubTally: Equatable, Sendable {
    /// Seconds since 1970.
    package var begun: Int64
    package var updated: Int64
    /// The name that was checked last; nil before the first.
    package var position: String?
    package var files: Int64 = 0
    package var bytes: Int64 = 0
    /// Files that were found to be damaged.
    package var damaged: Int64 = 0

    package init(begun: Int64) { (self.begun, updated) = (begun, begun) }
}

/// What checks of the files on this disk have found, and how far they have come.
extension IndexStore {
    /// Damaged files of one folder that are remembered; where there are more, the disk is to be replaced.
    package static let damagedLimit = 1000

    /// The damaged files that are still on this disk as they were found, and the names of those that were changed, replaced or
    /// removed since. In the order of their names.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func damagedFiles(in folder: FolderID) async throws -> (current: [DamagedFile], stale: [String]) {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database,
                """
                SELECT name, inode, expected, found, wrongBlocks, blocks, noticed FROM damaged WHERE folder = ?1 ORDER BY name
                """)
            try select.bind(1, row.number)
            defer { select.reset() }
            var all: [DamagedFile] = []
            while try select.step() {
                guard let expected = SHA256Digest(select.bytes(2)) else { throw MalformedRow("no digest") }
                all.append(
                    DamagedFile(
                        name: select.text(0), inode: UInt64(bitPattern: select.integer(1)), expected: expected,
                        found: select.isNull(3) ? nil : SHA256Digest(select.bytes(3)),
                        wrongBlocks: select.integer(4), blocks: select.integer(5), noticed: select.integer(6)))
            }
            let reader = try IndexReader(database, folder: row)
            let need = try NeedReader(database, reader)
            var (current, stale): ([DamagedFile], [String]) = ([], [])
            for file in all {
                let local = try reader.find(file.name).flatMap { try need.facts(of: $0.id, path: file.name).local }
                if let local, !local.file.isDeleted, local.status?.inode == file.inode,
                    local.file.blocksHash == file.expected
                {
                    current.append(file)
                } else {
                    stale.append(file.name)
                }
            }
            return (current, stale)
        }
    }

    /// Remembers a file, unless there are `damagedLimit` others.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteDamaged(_ file: DamagedFile, in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let insert = try RawStatement(
                database,
                """
                INSERT OR REPLACE INTO damaged (folder, name, inode, expected, found, wrongBlocks, blocks, noticed)
                SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
                WHERE (SELECT count(*) FROM damaged WHERE folder = ?1 AND name <> ?2) < \(Self.damagedLimit)
                """)
            try insert.bind(1, row.number)
            try insert.bind(2, file.name)
            try insert.bind(3, Int64(bitPattern: file.inode))
            try insert.bind(4, file.expected.bytes)
            // Without one NULL, as an empty blob is none.
            if let found = file.found { try insert.bind(5, found.bytes) } else { try insert.bind(5, Int64?.none) }
            try insert.bind(6, file.wrongBlocks)
            try insert.bind(7, file.blocks)
            try insert.bind(8, file.noticed)
            try insert.run()
        }
    }

    /// A damaged file has another name now.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func renameDamaged(_ name: String, to newName: String, in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let update = try RawStatement(
                database, "UPDATE OR REPLACE damaged SET name = ?3 WHERE folder = ?1 AND name = ?2")
            try update.bind(1, row.number)
            try update.bind(2, name)
            try update.bind(3, newName)
            try update.run()
        }
    }

    /// Forgets damaged files, those of `names`.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func forgetDamaged(_ names: [String], in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let delete = try RawStatement(database, "DELETE FROM damaged WHERE folder = ?1 AND name = ?2")
            for name in names {
                try delete.bind(1, row.number)
                try delete.bind(2, name)
                try delete.run()
            }
        }
    }

    // MARK: how far it is

    /// The check of what is at and below `path` (empty for the folder) that has not ended.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func scrubUnderWay(in folder: FolderID, below path: String) async throws -> ScrubTally? {
        try await scrub(in: folder, below: path, isEnded: false)
    }

    /// The last check of the whole folder that ended; nil if none has.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func lastScrub(in folder: FolderID) async throws -> ScrubTally? {
        try await scrub(in: folder, below: "", isEnded: true)
    }

    private func scrub(in folder: FolderID, below path: String, isEnded: Bool) async throws -> ScrubTally? {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database,
                """
                SELECT begun, updated, position, files, bytes, damaged FROM scrub
                WHERE folder = ?1 AND path = ?2 AND isEnded = ?3
                """)
            try select.bind(1, row.number)
            try select.bind(2, path)
            try select.bind(3, isEnded ? 1 : 0)
            return try select.first { row in
                var tally = ScrubTally(begun: row.integer(0))
                tally.updated = row.integer(1)
                tally.position = row.isNull(2) ? nil : row.text(2)
                (tally.files, tally.bytes) = (try row.counter(3), try row.counter(4))
                tally.damaged = try row.counter(5)
                return tally
            }
        }
    }

    /// Notes how far a check has come. Of checks of a part of the folder only the last one is remembered.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func noteScrub(_ tally: ScrubTally, below path: String, in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            if !path.isEmpty { try Self.forgetScrubs(of: row, "path <> '' AND path <> ?2", path, database) }
            try Self.write(tally, path, isEnded: false, row, database)
        }
    }

    /// Notes that a check has ended; what one of the whole folder came to is remembered.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func endScrub(_ tally: ScrubTally, below path: String, in folder: FolderID) async throws {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            try Self.forgetScrubs(of: row, "isEnded = 0 AND path = ?2", path, database)
            if path.isEmpty { try Self.write(tally, path, isEnded: true, row, database) }
        }
    }

    private static func forgetScrubs(
        of folder: Folder, _ condition: String, _ path: String, _ database: Database
    ) throws {
        let delete = try RawStatement(database, "DELETE FROM scrub WHERE folder = ?1 AND \(condition)")
        try delete.bind(1, folder.number)
        try delete.bind(2, path)
        try delete.run()
    }

    private static func write(
        _ tally: ScrubTally, _ path: String, isEnded: Bool, _ folder: Folder, _ database: Database
    ) throws {
        let insert = try RawStatement(
            database,
            """
            INSERT OR REPLACE INTO scrub (folder, path, isEnded, begun, updated, position, files, bytes, damaged)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        try insert.bind(1, folder.number)
        try insert.bind(2, path)
        try insert.bind(3, isEnded ? 1 : 0)
        try insert.bind(4, tally.begun)
        try insert.bind(5, tally.updated)
        if let position = tally.position { try insert.bind(6, position) } else { try insert.bind(6, Int64?.none) }
        try insert.bind(7, tally.files)
        try insert.bind(8, tally.bytes)
        try insert.bind(9, tally.damaged)
        try insert.run()
    }
}
