import BlockExchange
import Cryptography
import GRDB

/// What the command line, the page and fetching read of a folder.
extension IndexStore {
    /// The entry at `path` (empty for the root); nil if nobody ever named it. It may be deleted, or invalid everywhere.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func global(_ folder: FolderID, _ path: String) async throws -> GlobalEntry? {
        try await read { try Self.global(folder, path, $0) }
    }

    /// The same, for a caller whose thread may wait.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func globalNow(_ folder: FolderID, _ path: String) throws -> GlobalEntry? {
        try readNow { try Self.global(folder, path, $0) }
    }

    private static func global(_ folder: FolderID, _ path: String, _ database: Database) throws -> GlobalEntry? {
        let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
        guard let found = try reader.find(path) else { return nil }
        return try reader.entry(found.id, winner: found.winner, own: found.own, path: path)
    }

    /// What is in `directory` (empty for the root), ordered by the bytes of the names: what somebody has, and
    /// directories that nobody announced but that hold such. Empty for what is no directory.
    ///
    /// - parameter after: the name of the last entry of the page before, nil for the first page; it may be gone since.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func children(
        _ folder: FolderID, of directory: String = "", after: String? = nil, limit: Int = .max
    ) async throws -> [GlobalEntry] {
        try await read { try Self.children(folder, of: directory, after: after, limit: limit, $0) }
    }

    /// The same, for a caller whose thread may wait.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func childrenNow(
        _ folder: FolderID, of directory: String, after: String?, limit: Int
    ) throws -> [GlobalEntry] {
        try readNow { try Self.children(folder, of: directory, after: after, limit: limit, $0) }
    }

    private static func children(
        _ folder: FolderID, of directory: String, after: String?, limit: Int, _ database: Database
    ) throws -> [GlobalEntry] {
        let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
        guard let found = try reader.find(directory) else { return [] }
        let select = try RawStatement(
            database, "SELECT id, name, winner, own FROM entry WHERE parent = ?1 AND name > ?2 ORDER BY name")
        try select.bind(1, found.id)
        try select.bind(2, after ?? "")
        defer { select.reset() }
        let prefix = directory.isEmpty ? "" : directory + "/"
        var children: [GlobalEntry] = []
        while children.count < limit, try select.step() {
            let child = try reader.entry(
                select.integer(0), winner: select.optionalInteger(2), own: select.optionalInteger(3),
                path: prefix + select.text(1))
            if IndexReader.isListed(child) { children.append(child) }
        }
        return children
    }

    /// The next `limit` entries below `directory`, each directory before what is in it, by the bytes of the names.
    ///
    /// - parameter after: the path of the last entry of the page before, nil for the first page; it may be gone since.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func descendants(
        _ folder: FolderID, of directory: String = "", after: String? = nil, limit: Int
    ) async throws -> [GlobalEntry] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            var walk = try TreeWalk(database, folder: row, below: directory, after: after)
            var entries: [GlobalEntry] = []
            while entries.count < limit, let step = try walk.next() {
                let facts = try reader.winnerAndOwn(of: step.id)
                let entry = try reader.entry(step.id, winner: facts.winner, own: facts.own, path: step.path)
                if IndexReader.isListed(entry) { entries.append(entry) }
                if entry.below == .zero, !entry.isPresent { walk.skipBelow() }
            }
            return entries
        }
    }

    /// The blocks of the global version of `path`; empty if there is none or it has none.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func blocks(_ folder: FolderID, _ path: String) async throws -> [BlockInfo] {
        try await read { database in
            let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
            guard let found = try reader.find(path),
                let winner = try reader.announcements(of: found.id).first(where: { $0.announcer == found.winner })
            else { return [] }
            return try reader.blocks(of: winner)
        }
    }

    /// The global version of `path` with its blocks; nil if nobody has one, or it is deleted or invalid.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func file(_ folder: FolderID, _ path: String) async throws -> FileInfo? {
        try await files(folder, [path])[0]
    }

    /// The same of many paths, in their order; all in one read.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func files(_ folder: FolderID, _ paths: [String]) async throws -> [FileInfo?] {
        try await read { try Self.files(folder, paths, $0) }
    }

    /// As `file`, for a caller whose thread may wait.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func fileNow(_ folder: FolderID, _ path: String) throws -> FileInfo? {
        try readNow { try Self.files(folder, [path], $0)[0] }
    }

    private static func files(_ folder: FolderID, _ paths: [String], _ database: Database) throws -> [FileInfo?] {
        let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
        return try paths.map { path in
            guard let found = try reader.find(path),
                let winner = try reader.announcements(of: found.id).first(where: { $0.announcer == found.winner })
            else { return nil }
            let file = try reader.file(winner, name: path)
            return file.isDeleted || file.isInvalid ? nil : file
        }
    }

    /// What `device` announced of `path`, whole; nil if it did not.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func file(_ folder: FolderID, _ path: String, announcedBy device: DeviceID) async throws -> FileInfo? {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            guard let announcer = try Announcer.find(device, in: row, database) else { return nil }
            let reader = try IndexReader(database, folder: row)
            guard let found = try reader.find(path),
                let own = try reader.announcements(of: found.id).first(where: { $0.announcer == announcer.number })
            else { return nil }
            return try reader.file(own, name: path)
        }
    }

    /// What this device has of `path`, with its blocks; nil if it has nothing of its own to say of it.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func local(_ folder: FolderID, _ path: String) async throws -> LocalEntry? {
        try await read { database in
            let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
            guard let found = try reader.find(path),
                let own = try reader.announcements(of: found.id).first(where: {
                    $0.announcer == Announcement.thisDevice
                })
            else { return nil }
            var local = try reader.local(own, of: found.id, path: path)
            local.file = try reader.file(own, name: path)
            local.file.sequence = found.own ?? 0
            return local
        }
    }

    /// How much is in `folder` and how much of it on this disk, without counting.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func totals(of folder: FolderID) async throws -> FolderTotals {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            return FolderTotals(global: try reader.sums(below: row.root).below, local: row.local)
        }
    }

    /// Files of `folder` on this disk that hold a block with `hash`, and files of `others` that other devices may have; at
    /// most `limit`. One read.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func localBlocks(
        _ hash: SHA256Digest, in folder: FolderID, or others: Set<FolderID> = [], limit: Int = 8
    ) async throws -> [LocalBlock] {
        try await read { database in
            let select = try RawStatement(database, "SELECT entry, block FROM localBlock WHERE hash = ?1")
            try select.bind(1, Int64(bitPattern: hash.words.0))
            defer { select.reset() }
            let readFolder = try RawStatement(database, "SELECT folder FROM entry WHERE id = ?1")
            var readers: [Int64: IndexReader] = [:]
            for row in try Folder.all(in: database) where row.id == folder || others.contains(row.id) {
                readers[row.number] = try IndexReader(database, folder: row)
            }
            var found: [LocalBlock] = []
            while found.count < limit, try select.step() {
                let entry = select.integer(0)
                try readFolder.bind(1, entry)
                var known: [Int64: [UInt8]] = [:]
                guard let index = Int(exactly: select.integer(1)),
                    let number = try readFolder.first({ $0.integer(0) })
                else { throw MalformedRow("a local block of no entry") }
                // Of a folder that is being removed, or that is not asked for.
                guard let reader = readers[number] else { continue }
                guard let path = try reader.path(of: entry, known: &known) else {
                    throw MalformedRow("a local block of no entry")
                }
                let isOther = reader.folder.id != folder
                if let block = try Self.localBlock(
                    hash, at: index, of: entry, path: path, reader, onlyAnnounced: isOther)
                {
                    found.append(block)
                }
            }
            return found
        }
    }

    /// Those of `hashes` that a file of these folders on this disk may hold; `localBlocks` says for sure, and where. One read.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func blocksOnDisk(_ hashes: [SHA256Digest], in folders: Set<FolderID>) async throws -> Set<SHA256Digest> {
        try await read { database in
            let numbers = Set(try Folder.all(in: database).filter { folders.contains($0.id) }.map(\.number))
            let select = try RawStatement(
                database,
                """
                SELECT entry.folder FROM localBlock CROSS JOIN entry ON entry.id = localBlock.entry
                WHERE localBlock.hash = ?1
                """)
            return try Set(
                hashes.filter { hash in
                    try select.bind(1, Int64(bitPattern: hash.words.0))
                    defer { select.reset() }
                    while try select.step() {
                        if numbers.contains(select.integer(0)) { return true }
                    }
                    return false
                })
        }
    }

    private static func localBlock(
        _ hash: SHA256Digest, at index: Int, of entry: Int64, path: String, _ reader: IndexReader, onlyAnnounced: Bool
    ) throws -> LocalBlock? {
        guard
            let own = try reader.announcements(of: entry).first(where: { $0.announcer == Announcement.thisDevice })
        else { return nil }
        let local = try reader.local(own, of: entry, path: path)
        guard let status = local.status, !onlyAnnounced || local.flags.isEmpty else { return nil }
        let blocks = try reader.blocks(of: own)
        guard blocks.indices.contains(index), blocks[index].hash == hash else { return nil }
        return LocalBlock(
            folder: reader.folder.id, path: path, offset: blocks[index].offset, size: blocks[index].size,
            fileSize: own.file.size, modifiedSeconds: own.file.modifiedSeconds,
            modifiedNanoseconds: own.file.modifiedNanoseconds, status: status)
    }
}
