import BlockExchange
import GRDB

/// What is to be known of a name in a directory to filter and order it without reading it whole.
package struct ListedName {
    /// Names the entry to `entries(_:of:ids:)`, for as long as it is there.
    package var id: Int64
    /// UTF-8; valid during the call that it is handed to.
    package var name: UnsafeRawBufferPointer
    package var isDirectory: Bool
    /// Bytes; of a directory, of all that is below.
    package var size: Int64
    /// Seconds since 1970; nil for a directory that nobody announced.
    package var modified: Int64?
}

/// Differs whenever what a folder's index lists may have changed.
package struct ListingStamp: Hashable, Sendable {
    fileprivate var indexID: IndexID
    fileprivate var sequence: Int64
    /// Number, highest sequence, entries and role of every announcer.
    fileprivate var announcers: [Int64]
    /// As `IndexStore.unnumberedChanges` had it before the others were read.
    fileprivate var unnumbered: UInt64
}

/// Reading large directories in parts.
extension IndexStore {
    /// The state of what `folder` lists, to compare with an earlier one.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func listingStamp(of folder: FolderID) async throws -> ListingStamp {
        let unnumbered = unnumberedChanges.value
        return try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database, "SELECT number, maxSequence, entries, role FROM announcer WHERE folder = ?1 ORDER BY number")
            try select.bind(1, row.number)
            var announcers: [Int64] = []
            while try select.step() { announcers += (0..<4).map { select.integer($0) } }
            return ListingStamp(
                indexID: row.indexID, sequence: row.sequence, announcers: announcers, unnumbered: unnumbered)
        }
    }

    /// Hands every name that `children` would list to `update`, by the bytes of the names, in one read. Nothing for what
    /// is no directory.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`; what `update` throws.
    package func foldListing<Result: Sendable>(
        of folder: FolderID, in directory: String, into initial: Result,
        _ update: @escaping @Sendable (inout Result, ListedName) throws -> Void
    ) async throws -> Result {
        try await read { database in
            var result = initial
            let row = try Folder.find(folder, in: database)
            guard let found = try IndexReader(database, folder: row).find(directory) else { return result }
            let select = try RawStatement(
                database,
                """
                SELECT entry.id, entry.name, announced.flags, announced.size, announced.modified,
                    aggregate.files + aggregate.symlinks + aggregate.directories, aggregate.bytes
                FROM entry
                LEFT JOIN announced ON announced.entry = entry.id AND announced.announcer = entry.winner
                LEFT JOIN aggregate ON aggregate.entry = entry.id
                WHERE entry.parent = ?1 ORDER BY entry.name
                """)
            try select.bind(1, found.id)
            defer { select.reset() }
            while try select.step() {
                let flags = select.optionalInteger(2)
                let isPresent =
                    flags.map { !AnnouncementCoding.isDeleted($0) && !AnnouncementCoding.isInvalid($0) } ?? false
                let below = select.integer(5)
                guard isPresent || below != 0 else { continue }
                let isDirectory = try isPresent ? AnnouncementCoding.kind(flags ?? 0) == .directory : true
                try update(
                    &result,
                    ListedName(
                        id: select.integer(0), name: select.bytes(1), isDirectory: isDirectory,
                        size: isDirectory ? select.integer(6) : select.integer(3),
                        modified: isPresent ? select.integer(4) : nil))
            }
            return result
        }
    }

    /// The entries of `directory` with these ids, in their order; nil for those that are not listed there any more.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func entries(_ folder: FolderID, of directory: String, ids: [Int64]) async throws -> [GlobalEntry?] {
        try await read { database in
            let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
            guard let found = try reader.find(directory) else { return ids.map { _ in nil } }
            let select = try RawStatement(database, "SELECT parent, name, winner, own FROM entry WHERE id = ?1")
            let prefix = directory.isEmpty ? "" : directory + "/"
            return try ids.map { id in
                try select.bind(1, id)
                let row = try select.first {
                    (
                        parent: $0.integer(0), name: $0.text(1), winner: $0.optionalInteger(2),
                        own: $0.optionalInteger(3)
                    )
                }
                guard let row, row.parent == found.id else { return nil }
                let entry = try reader.entry(id, winner: row.winner, own: row.own, path: prefix + row.name)
                return IndexReader.isListed(entry) ? entry : nil
            }
        }
    }
}
