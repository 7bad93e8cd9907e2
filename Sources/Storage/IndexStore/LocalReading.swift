import BlockExchange
import Cryptography
import GRDB

/// A name on this disk.
package struct LocalName: Equatable, Sendable {
    package var path: String
    package var kind: FileInfo.Kind
    package var flags: LocalFlags

    package init(path: String, kind: FileInfo.Kind, flags: LocalFlags = []) {
        self.path = path
        self.kind = kind
        self.flags = flags
    }
}

/// What this device has of flagged names, and where the next part begins.
package struct FlaggedPage: Equatable, Sendable {
    package var entries: [LocalEntry]
    /// What to give as `after` for the next page; nil if this is the last one. No sequence and nothing to count with.
    package var next: Int64?
}

/// What this device has, for scanning, reverting and finding copies. Entries come without blocks, and without the hash
/// over them where nothing else is said; `local` has one whole.
extension IndexStore {
    /// What is on this disk in `directory` (empty for the root), by the bytes of the names. What is deleted, or known and
    /// not on this disk, is left out; what this device does not vouch for is not.
    ///
    /// Costs a look-up for each name that anybody has in the directory.
    ///
    /// - parameter after: the last component of the last entry of the page before, nil for the first page; it may be gone
    ///   since.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localChildren(
        of folder: FolderID, directory: String = "", after: String? = nil, limit: Int = .max
    ) async throws -> [LocalEntry] {
        try await read { database in
            let children = try LocalChildren(
                database, of: folder, directory, where: "entry.name > ?2 ORDER BY entry.name")
            return try children?.entries(after ?? "", limit: limit) ?? []
        }
    }

    /// Those of `names` that are on this disk directly in `directory`, in the order of `names`, which are components.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localChildren(
        of folder: FolderID, directory: String, named names: [String]
    ) async throws -> [LocalEntry] {
        try await read { database in
            guard let children = try LocalChildren(database, of: folder, directory, where: "entry.name = ?2") else {
                return []
            }
            return try names.flatMap { try children.entries($0, limit: 1) }
        }
    }

    /// What is on this disk at `paths`, in their order; nil for what is not, and for what is no path.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localEntries(of folder: FolderID, at paths: [String]) async throws -> [LocalEntry?] {
        try await read { database in
            var last: (directory: Substring, children: LocalChildren?)?
            return try paths.map { path in
                let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
                let directory = slash.map { path[..<$0] } ?? ""
                let name = slash.map { path[path.utf8.index(after: $0)...] } ?? path[...]
                if last?.directory != directory {
                    let children = try LocalChildren(
                        database, of: folder, String(directory), where: "entry.name = ?2")
                    last = (directory, children)
                }
                return try last?.children?.entries(String(name), limit: 1).first
            }
        }
    }

    /// The next names below `directory` that are on this disk.
    ///
    /// - parameter after: `next` of the page before, in the same order; nil for the first. It need not exist any more.
    /// - parameter deepestFirst: what is in a directory comes before it, and the last name first: the order in which a
    ///   tree is taken away. Else each directory comes before what is in it, by the bytes of the names.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localDescendants(
        of folder: FolderID, below directory: String = "", after: String? = nil, limit: Int,
        deepestFirst: Bool = false
    ) async throws -> IndexPage<LocalName> {
        try await read { database in
            var walk = try TreeWalk(
                database, folder: try Folder.find(folder, in: database), below: directory, after: after,
                order: deepestFirst ? .deepestFirst : .directoriesFirst)
            let select = try RawStatement(
                database,
                """
                SELECT local.flags, announced.flags FROM local CROSS JOIN announced
                    ON announced.entry = local.entry AND announced.announcer = \(Announcement.thisDevice)
                WHERE local.entry = ?1 AND local.inode IS NOT NULL
                """)
            var page = IndexPage<LocalName>(entries: [], next: after)
            var looks = 0
            while page.entries.count < limit, looks < Self.lookLimit {
                guard let step = try walk.next() else {
                    page.next = nil
                    break
                }
                looks += 1
                page.next = step.path
                try select.bind(1, step.id)
                let name: LocalName?? = try select.first { row in
                    let flags = row.integer(1)
                    if AnnouncementCoding.isDeleted(flags) { return nil }
                    return LocalName(
                        path: step.path, kind: try AnnouncementCoding.kind(flags),
                        flags: LocalFlags(rawValue: UInt8(truncatingIfNeeded: row.integer(0))))
                }
                if let name = name ?? nil { page.entries.append(name) }
            }
            return page
        }
    }

    /// Names that are on this disk as far as the index knows, and the directory that they are in is not, or something else is in its
    /// place: at most `limit`, in no order. Looking through a tree from its root does not come by them.
    ///
    /// Reads the rows of what this device has, of all folders, and those of their directories; nothing if there were none and nothing
    /// was written since.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localOrphans(of folder: FolderID, limit: Int) async throws -> [String] {
        try await orphans.names(of: folder) { try await readLocalOrphans(of: folder, limit: limit) }
    }

    private func readLocalOrphans(of folder: FolderID, limit: Int) async throws -> [String] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            func isPresent(_ entry: String, where condition: String = "1") -> String {
                """
                EXISTS (SELECT 1 FROM local AS l CROSS JOIN announced AS a
                    ON a.entry = l.entry AND a.announcer = \(Announcement.thisDevice)
                    WHERE l.entry = \(entry) AND l.inode IS NOT NULL
                        AND a.flags & \(AnnouncementCoding.deletedFlag) = 0 AND \(condition))
                """
            }
            let isDirectory = "a.flags & \(AnnouncementCoding.kindMask) = \(FileInfo.Kind.directory.rawValue)"
            let select = try RawStatement(
                database,
                """
                SELECT entry.id FROM local CROSS JOIN entry ON entry.id = local.entry
                WHERE entry.folder = ?1 AND entry.parent <> ?2 AND \(isPresent("entry.id"))
                    AND NOT \(isPresent("entry.parent", where: isDirectory))
                LIMIT ?3
                """)
            try select.bind(1, row.number)
            try select.bind(2, row.root)
            try select.bind(3, Int64(clamping: limit))
            defer { select.reset() }
            var known: [Int64: [UInt8]] = [:]
            var orphans: [String] = []
            while try select.step() {
                guard let path = try reader.path(of: select.integer(0), known: &known) else {
                    throw MalformedRow("no entry")
                }
                orphans.append(path)
            }
            return orphans
        }
    }

    /// What this device has, on disk or not, of names with any of `flags`, in no order of names but always the same.
    ///
    /// Reads the rows of what this device has, of all folders: 1,000,000 in less than 0.1 s if none is flagged.
    ///
    /// - parameter after: `next` of the page before; nil for the first.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localEntries(
        in folder: FolderID, flags: LocalFlags, after: Int64? = nil, limit: Int
    ) async throws -> FlaggedPage {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            let select = try RawStatement(
                database,
                """
                SELECT local.entry, entry.own, \(LocalEntry.columns), \(AnnouncementCoding.qualifiedColumns)
                FROM local
                    CROSS JOIN entry ON entry.id = local.entry
                    CROSS JOIN announced ON announced.entry = local.entry
                        AND announced.announcer = \(Announcement.thisDevice)
                WHERE local.entry > ?1 AND local.flags & ?2 <> 0 AND entry.folder = ?3 ORDER BY local.entry
                """)
            try select.bind(1, after ?? 0)
            try select.bind(2, Int64(flags.rawValue))
            try select.bind(3, row.number)
            defer { select.reset() }
            var page = FlaggedPage(entries: [], next: after)
            var known: [Int64: [UInt8]] = [:]
            while page.entries.count < limit {
                guard try select.step() else {
                    page.next = nil
                    break
                }
                let entry = select.integer(0)
                guard let path = try reader.path(of: entry, known: &known) else { throw MalformedRow("no entry") }
                var local = LocalEntry(file: try AnnouncementCoding.announcement(select, from: 6).file)
                local.file.name = path
                local.file.sequence = select.integer(1)
                local.read(select, from: 2)
                page.entries.append(local)
                page.next = entry
            }
            return page
        }
    }

    /// How many names this device changed in a folder that only receives, of those that are selected; not counted beyond `limit`.
    ///
    /// Costs what `localEntries(in:flags:after:limit:)` costs without the names.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func countChangedHere(in folder: FolderID, limit: Int) async throws -> Int {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database,
                """
                SELECT count(*) FROM (
                    SELECT 1 FROM local CROSS JOIN entry ON entry.id = local.entry
                    WHERE local.flags & ?1 = ?2 AND entry.folder = ?3 LIMIT ?4)
                """)
            let changed = LocalFlags.receiveOnlyChanged
            try select.bind(1, Int64(changed.union(.ignored).rawValue))
            try select.bind(2, Int64(changed.rawValue))
            try select.bind(3, row.number)
            try select.bind(4, Int64(limit))
            return Int(clamping: try select.first { $0.integer(0) } ?? 0)
        }
    }

    /// Files on this disk, in `folder`, whose blocks were these when they were looked at last, at most `limit`, by the
    /// bytes of their paths; with the hash over the blocks. Whoever uses one looks at the file itself before.
    ///
    /// Of files that end with the same block, so many are compared and no more: 1,000. Empty without blocks.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localFiles(
        in folder: FolderID, withBlocks blocks: [BlockInfo], limit: Int = 8
    ) async throws -> [LocalEntry] {
        try await read { database in
            let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
            return try ContentReader(database, reader).files(with: blocks, limit: limit)
        }
    }

    /// For each of `names` the files of `localFiles` with the content of its global version, at most `limit` of each;
    /// the name itself may be one of them. Empty where that is no file or deleted.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func localCopies(of folder: FolderID, names: [String], limit: Int = 4) async throws -> [[LocalEntry]] {
        try await read { database in
            let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
            let content = try ContentReader(database, reader)
            return try names.map { name in
                guard let found = try reader.find(name),
                    let winner = try reader.announcements(of: found.id).first(where: { $0.announcer == found.winner }),
                    winner.file.kind == .file, !winner.file.isDeleted
                else { return [] }
                return try content.files(with: try reader.blocks(of: winner), limit: limit)
            }
        }
    }
}

/// Reads what is on this disk in one directory.
private struct LocalChildren {
    private let select: RawStatement
    private let directory: Int64
    private let prefix: String

    /// Nil if nobody has the directory. `condition` chooses names by `?2`.
    init?(_ database: Database, of folder: FolderID, _ path: String, where condition: String) throws {
        let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
        guard let found = try reader.find(path) else { return nil }
        directory = found.id
        prefix = path.isEmpty ? "" : path + "/"
        select = try RawStatement(
            database,
            """
            SELECT entry.name, entry.own, \(LocalEntry.columns), \(AnnouncementCoding.qualifiedColumns)
            FROM entry
                CROSS JOIN local ON local.entry = entry.id
                CROSS JOIN announced ON announced.entry = entry.id
                    AND announced.announcer = \(Announcement.thisDevice)
            WHERE entry.parent = ?1 AND local.inode IS NOT NULL AND \(condition)
            """)
    }

    func entries(_ name: String, limit: Int) throws -> [LocalEntry] {
        try select.bind(1, directory)
        try select.bind(2, name)
        defer { select.reset() }
        var entries: [LocalEntry] = []
        while entries.count < limit, try select.step() {
            var entry = LocalEntry(file: try AnnouncementCoding.announcement(select, from: 6).file)
            if entry.file.isDeleted { continue }
            entry.file.name = prefix + select.text(0)
            entry.file.sequence = select.integer(1)
            entry.read(select, from: 2)
            entries.append(entry)
        }
        return entries
    }
}
