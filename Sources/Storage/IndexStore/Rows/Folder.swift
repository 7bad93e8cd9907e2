import BlockExchange
import GRDB

/// A row of `folder`.
struct Folder {
    var number: Int64
    var id: FolderID
    var root: Int64
    var indexID: IndexID
    var sequence: Int64
    var local: Aggregate

    static let columns = "number, id, root, indexID, sequence, localFiles, localSymlinks, localDirectories, localBytes"

    init(_ row: RawStatement) throws {
        number = row.integer(0)
        id = FolderID(row.text(1))
        root = row.integer(2)
        indexID = IndexID(rawValue: UInt64(bitPattern: row.integer(3)))
        sequence = try row.counter(4)
        local = Aggregate(row, from: 5)
    }

    /// The folder with this id; throws `UnknownFolder` if there is none.
    static func find(_ id: FolderID, in database: Database) throws -> Folder {
        guard let folder = try findIfPresent(id, in: database) else { throw UnknownFolder(folder: id) }
        return folder
    }

    static func findIfPresent(_ id: FolderID, in database: Database) throws -> Folder? {
        let statement = try RawStatement(database, "SELECT \(columns) FROM folder WHERE id = ?1")
        try statement.bind(1, id.rawValue)
        return try statement.first { try Folder($0) }
    }

    /// All folders in the order of their ids.
    static func all(in database: Database) throws -> [Folder] {
        let statement = try RawStatement(database, "SELECT \(columns) FROM folder ORDER BY id")
        var folders: [Folder] = []
        while try statement.step() { folders.append(try Folder(statement)) }
        return folders
    }
}

/// A row of `announcer`: another device's index of one folder.
struct Announcer {
    var number: Int64
    var folder: Int64
    var device: DeviceID
    var indexID: IndexID
    var maxSequence: Int64
    /// How many rows of `announced` are its.
    var entries: Int64
    /// Bytes of paths, version vectors and carried fields in them.
    var bytes: Int64

    static let columns = "number, folder, device, indexID, maxSequence, entries, bytes"

    init(_ row: RawStatement) throws {
        number = row.integer(0)
        folder = row.integer(1)
        var reader = ByteReader(row.bytes(2))
        device = DeviceID(digest: try reader.digest())
        indexID = IndexID(rawValue: UInt64(bitPattern: row.integer(3)))
        maxSequence = row.integer(4)
        entries = row.integer(5)
        bytes = row.integer(6)
    }

    static func find(_ device: DeviceID, in folder: Folder, _ database: Database) throws -> Announcer? {
        let statement = try RawStatement(
            database, "SELECT \(columns) FROM announcer WHERE folder = ?1 AND device = ?2")
        try statement.bind(1, folder.number)
        try statement.bind(2, device.digest.bytes)
        return try statement.first { try Announcer($0) }
    }

    /// The row of `device`, made if there is none.
    static func ensure(_ device: DeviceID, in folder: Folder, _ database: Database) throws -> Announcer {
        if let announcer = try find(device, in: folder, database) { return announcer }
        let insert = try RawStatement(
            database,
            """
            INSERT INTO announcer (folder, device, indexID, maxSequence, entries, bytes) VALUES (?1, ?2, 0, 0, 0, 0)
            """)
        try insert.bind(1, folder.number)
        try insert.bind(2, device.digest.bytes)
        try insert.run()
        guard let announcer = try find(device, in: folder, database) else { throw MalformedRow("announcer") }
        return announcer
    }

    /// The devices that announce something of `folder`, by their numbers.
    static func all(of folder: Int64, _ database: Database) throws -> [Int64: DeviceID] {
        let statement = try RawStatement(database, "SELECT \(columns) FROM announcer WHERE folder = ?1")
        try statement.bind(1, folder)
        defer { statement.reset() }
        var devices: [Int64: DeviceID] = [:]
        while try statement.step() {
            let announcer = try Announcer(statement)
            devices[announcer.number] = announcer.device
        }
        return devices
    }

    func save(_ database: Database) throws {
        let update = try RawStatement(
            database,
            "UPDATE announcer SET indexID = ?2, maxSequence = ?3, entries = ?4, bytes = ?5 WHERE number = ?1")
        try update.bind(1, number)
        try update.bind(2, Int64(bitPattern: indexID.rawValue))
        try update.bind(3, maxSequence)
        try update.bind(4, entries)
        try update.bind(5, bytes)
        try update.run()
    }
}
