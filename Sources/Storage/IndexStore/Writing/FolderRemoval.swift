import BlockExchange
import GRDB

/// Removes the rows of a folder that is in `removal`, some thousand in each transaction, and needs nothing between two of them.
///
/// Entries go from the leaves up, so that what is left can always be found from the root; the root goes last, because a row
/// that comes later may get the number of one that went.
struct FolderRemoval {
    /// Rows of one transaction: so many keep the log small and let other writes through.
    static let rowLimit = 5000

    /// The tables with rows of a folder beside its entries, with what tells these rows apart.
    private static let tables = [
        ("own", "sequence"), ("placing", "name"), ("placingGroup", "name"), ("change", "number"), ("keepNote", "name"),
        ("keepPeer", "device"), ("keepFolder", "folder"), ("mountPoint", "name"), ("confirmedDeletion", "mark"),
        ("fetched", "name"), ("damaged", "name"), ("scrub", "path"), ("archive", "path"),
        ("announcer", "number"),
    ]

    private let number: Int64
    private let root: Int64
    private let announcements: AnnouncementTable
    private let blockLists: BlockListReader
    private let locals: LocalTable
    private let firstChild: RawStatement
    private let deleteOwn: RawStatement
    private let deleteRefused: RawStatement
    private let deleteAggregate: RawStatement
    private let deleteEntry: RawStatement

    /// The next folder that is to go; nil if there is none.
    static func next(_ database: Database) throws -> FolderRemoval? {
        let select = try RawStatement(database, "SELECT folder, root FROM removal ORDER BY folder LIMIT 1")
        guard let (number, root) = try select.first({ ($0.integer(0), $0.integer(1)) }) else { return nil }
        return try FolderRemoval(database, number: number, root: root)
    }

    private init(_ database: Database, number: Int64, root: Int64) throws {
        self.number = number
        self.root = root
        announcements = try AnnouncementTable(database)
        blockLists = try BlockListReader(database)
        locals = try LocalTable(database)
        firstChild = try RawStatement(database, "SELECT id FROM entry WHERE parent = ?1 LIMIT 1")
        deleteOwn = try RawStatement(
            database, "DELETE FROM own WHERE folder = ?1 AND sequence = (SELECT own FROM entry WHERE id = ?2)")
        deleteRefused = try RawStatement(
            database, "DELETE FROM refused WHERE announcer = ?1 AND isOpen IN (0, 1) AND entry = ?2")
        deleteAggregate = try RawStatement(database, "DELETE FROM aggregate WHERE entry = ?1")
        deleteEntry = try RawStatement(database, "DELETE FROM entry WHERE id = ?1")
    }

    /// Removes the next rows.
    func removeSome(_ database: Database) throws {
        var remaining = Self.rowLimit
        var path = [root]
        while remaining > 0, let last = path.last {
            try firstChild.bind(1, last)
            if let child = try firstChild.first({ $0.integer(0) }) {
                path.append(child)
                try EntryDepth.check(path.count)
            } else if last == root {
                path.removeLast()
            } else {
                remaining -= try remove(last)
                path.removeLast()
            }
        }
        for (table, key) in Self.tables where remaining > 0 {
            let delete = try RawStatement(
                database,
                """
                DELETE FROM \(table)
                WHERE folder = ?1 AND \(key) IN (SELECT \(key) FROM \(table) WHERE folder = ?1 LIMIT ?2)
                """)
            try delete.bind(1, number)
            try delete.bind(2, Int64(remaining))
            try delete.run()
            remaining -= Int(delete.changes)
        }
        guard remaining > 0 else { return }
        _ = try remove(root)
        let delete = try RawStatement(database, "DELETE FROM removal WHERE folder = ?1")
        try delete.bind(1, number)
        try delete.run()
    }

    /// Removes an entry that has nothing below it, and all that hangs on it; gives the number of its blocks on this disk, and one.
    private func remove(_ entry: Int64) throws -> Int {
        var count = 1
        for announcement in try announcements.announcements(of: entry) {
            if announcement.announcer == Announcement.thisDevice, try locals.read(entry).isOnDisk {
                let blocks = try blockLists.blocks(of: announcement)
                try locals.removeBlocks(blocks, of: entry)
                count += blocks.count
            }
            try announcements.remove(announcement, of: entry)
            try deleteRefused.bind(1, announcement.announcer)
            try deleteRefused.bind(2, entry)
            try deleteRefused.run()
        }
        try locals.remove(entry)
        try deleteOwn.bind(1, number)
        try deleteOwn.bind(2, entry)
        try deleteOwn.run()
        for statement in [deleteAggregate, deleteEntry] {
            try statement.bind(1, entry)
            try statement.run()
        }
        return count
    }
}
