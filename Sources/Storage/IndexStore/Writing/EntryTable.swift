import GRDB

/// How deeply directories may be nested. A damaged index can name a directory as its own parent, and a walk up or down from it
/// would never end.
enum EntryDepth {
    /// A path of 4,096 bytes, the most that a message or the kernel takes, has at most half as many names.
    static let limit = 4096

    /// - Throws: `MalformedRow` for more levels than there can be.
    static func check(_ levels: Int) throws {
        guard levels <= limit else { throw MalformedRow("a directory is in itself") }
    }
}

/// A row of `entry`: one name in one directory of one folder.
struct EntryRow {
    var id: Int64
    /// Nil for a folder's root alone.
    var parent: Int64?
    /// Whose announcement is the global version; nil if nobody announces the name.
    var winner: Int64?
    /// The sequence under which this device announces the name; nil if it does not.
    var own: Int64?
}

/// The tree of a folder's names.
struct EntryTable {
    private let folder: Int64
    private let insertRow: RawStatement
    private let findRow: RawStatement
    private let readRow: RawStatement
    private let updateRow: RawStatement
    private let deleteRow: RawStatement
    private let deleteAggregate: RawStatement
    private let findChild: RawStatement

    init(_ database: Database, folder: Folder) throws {
        self.folder = folder.number
        insertRow = try RawStatement(
            database, "INSERT OR IGNORE INTO entry (folder, parent, name, winner, own) VALUES (?1, ?2, ?3, ?4, ?5)")
        findRow = try RawStatement(
            database, "SELECT id, parent, winner, own FROM entry WHERE parent = ?1 AND name = ?2")
        readRow = try RawStatement(database, "SELECT id, parent, winner, own FROM entry WHERE id = ?1")
        updateRow = try RawStatement(database, "UPDATE entry SET winner = ?2, own = ?3 WHERE id = ?1")
        deleteRow = try RawStatement(database, "DELETE FROM entry WHERE id = ?1")
        deleteAggregate = try RawStatement(database, "DELETE FROM aggregate WHERE entry = ?1")
        findChild = try RawStatement(database, "SELECT 1 FROM entry WHERE parent = ?1 LIMIT 1")
    }

    /// Adds a name; nil if the directory has it already.
    func insert(
        _ name: UnsafeRawBufferPointer, in parent: Int64, winner: Int64?, own: Int64?
    ) throws -> Int64? {
        try insertRow.bind(1, folder)
        try insertRow.bind(2, parent)
        try insertRow.bind(3, borrowedText: name)
        try insertRow.bind(4, winner)
        try insertRow.bind(5, own)
        try insertRow.run()
        return insertRow.changes > 0 ? insertRow.lastInsertedRowID : nil
    }

    func find(_ name: UnsafeRawBufferPointer, in parent: Int64) throws -> EntryRow? {
        try findRow.bind(1, parent)
        try findRow.bind(2, borrowedText: name)
        return try findRow.first(Self.row)
    }

    func read(_ id: Int64) throws -> EntryRow? {
        try readRow.bind(1, id)
        return try readRow.first(Self.row)
    }

    func update(_ entry: EntryRow) throws {
        try updateRow.bind(1, entry.id)
        try updateRow.bind(2, entry.winner)
        try updateRow.bind(3, entry.own)
        try updateRow.run()
    }

    func delete(_ id: Int64) throws {
        try deleteRow.bind(1, id)
        try deleteRow.run()
        try deleteAggregate.bind(1, id)
        try deleteAggregate.run()
    }

    func hasChildren(_ id: Int64) throws -> Bool {
        try findChild.bind(1, id)
        return try findChild.first { _ in true } ?? false
    }

    private static func row(_ row: RawStatement) throws -> EntryRow {
        EntryRow(
            id: row.integer(0), parent: row.optionalInteger(1), winner: row.optionalInteger(2),
            own: row.isNull(3) ? nil : try row.counter(3))
    }
}
