import BlockExchange
import GRDB

/// What this device has to get, change or delete to have the winner of every name that it keeps.
extension IndexStore {
    /// Entries that one transaction looks at, at most.
    static let lookLimit = 20_000

    /// The next names that are kept and of which this device does not have the winner, each directory before what is in
    /// it, by the bytes of the names.
    ///
    /// Needed is a name whose winner is valid and of another device, if this device has another version or does not
    /// vouch for its own (`LocalFlags`). A deletion is needed if this device has anything of its own to say of the name;
    /// where that is a deletion too, only its version is to be taken over. What this device has with an empty version is needed
    /// where the winner's is empty as well: it is to get one. What has changed behind the cursor comes in the next pass.
    ///
    /// Costs a look at each child of the directories that are opened (about 4 µs of what is kept, 2 µs of what is not), and
    /// reads the block lists of what is returned, to hash them.
    ///
    /// - parameter directory: only what is below it; empty for the whole folder.
    /// - parameter after: `next` of the page before, nil for the first; it need not exist any more.
    /// - parameter isKept: whether this device keeps a name.
    /// - parameter mayContain: whether anything below a directory may be kept; others are not opened.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func needed(
        in folder: FolderID, below directory: String = "", after: String? = nil, limit: Int,
        isKept: @escaping @Sendable (String) -> Bool, mayContain: @escaping @Sendable (String) -> Bool
    ) async throws -> IndexPage<NeededEntry> {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let need = try NeedReader(database, try IndexReader(database, folder: row))
            var walk = try NeedWalk(
                database, need, folder: row, below: directory, after: after, limit: Self.lookLimit, isKept: isKept,
                mayContain: mayContain)
            var page = IndexPage<NeededEntry>(entries: [], next: nil)
            while page.entries.count < limit, let found = try walk.next() {
                guard let entry = try need.entry(found.id, path: found.path) else { throw MalformedRow("no winner") }
                page.entries.append(entry)
            }
            page.next = walk.cursor
            return page
        }
    }

    /// Those of `names` that are needed, in the order given, a name that comes twice once.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func needed(
        in folder: FolderID, names: [String], isKept: @escaping @Sendable (String) -> Bool
    ) async throws -> [NeededEntry] {
        try await read { database in
            let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
            let need = try NeedReader(database, reader)
            var seen: Set<Int64> = []
            var entries: [NeededEntry] = []
            for name in names where isKept(name) {
                guard let found = try reader.find(name), seen.insert(found.id).inserted,
                    try need.glance(at: found.id).isNeeded
                else { continue }
                guard let entry = try need.entry(found.id, path: name) else { throw MalformedRow("no winner") }
                entries.append(entry)
            }
            return entries
        }
    }

    /// How much is needed below `directory`: what `needed` would return, but for what was changed here in a folder that
    /// only receives, and for deletions of what is deleted here as well.
    ///
    /// Costs what `needed` costs without block lists. Reads in several transactions, so that a sum over a folder that
    /// changes meanwhile is of no one moment.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func neededTotals(
        in folder: FolderID, below directory: String = "", isKept: @escaping @Sendable (String) -> Bool,
        mayContain: @escaping @Sendable (String) -> Bool
    ) async throws -> NeededTotals {
        var totals = NeededTotals()
        var after: String?
        repeat {
            let cursor = after
            let (part, next) = try await read { database in
                let row = try Folder.find(folder, in: database)
                let need = try NeedReader(database, try IndexReader(database, folder: row))
                var walk = try NeedWalk(
                    database, need, folder: row, below: directory, after: cursor, limit: Self.lookLimit,
                    isKept: isKept, mayContain: mayContain)
                var part = NeededTotals()
                while let found = try walk.next() {
                    if found.glance.isLocalInvalid, try need.entry(found.id, path: found.path)?.isChangedHere == true {
                        continue
                    }
                    part.items += found.glance.winner
                    if found.glance.isWinnerDeleted, found.glance.isLocalPresent { part.deletions += 1 }
                }
                return (part, walk.cursor)
            }
            totals.items += part.items
            totals.deletions += part.deletions
            after = next
        } while after != nil
        return totals
    }
}
