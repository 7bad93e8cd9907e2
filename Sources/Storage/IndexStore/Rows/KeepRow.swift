import BlockExchange
import GRDB

/// A note about a promise to keep one version of one name: asked of another device, or given to it.
package struct KeepRow: Equatable, Sendable {
    package var device: DeviceID
    /// This device has promised the other; otherwise the other was asked.
    package var isGiven: Bool
    /// Of what was asked: a number to which the caller gives a meaning, with the exceptions that `KeepStanding` names. 0 of what
    /// was given.
    package var standing: Int64
    package var content: KeepContent

    package init(device: DeviceID, isGiven: Bool, standing: Int64, content: KeepContent) {
        self.device = device
        self.isGiven = isGiven
        self.standing = standing
        self.content = content
    }
}

/// The standings that change when the index is opened: an answer may have come out of a backup. The numbers are those of
/// `KeepNotes.Standing` in Reconciliation, whose `restart` does the same to one name.
enum KeepStanding {
    static let asked: Int64 = 1
    static let promised: Int64 = 2
    static let earlier: Int64 = 3
    static let released: Int64 = 4

    /// Brings all notes in line with a start.
    static func restart(_ database: Database) throws {
        try database.execute(
            sql: """
                UPDATE keepNote SET standing = \(released) WHERE isGiven = 0 AND standing = \(asked);
                UPDATE keepNote SET standing = \(earlier) WHERE isGiven = 0 AND standing = \(promised);
                DELETE FROM keepNote WHERE isGiven = 0 AND standing NOT IN (\(earlier), \(released));
                """)
    }
}

/// Reads and writes rows of `keepNote` of one folder.
struct KeepTable {
    private let folder: Int64
    private let select: RawStatement
    private let insert: RawStatement
    private let delete: RawStatement

    init(_ database: Database, folder: Folder) throws {
        self.folder = folder.number
        select = try RawStatement(
            database,
            """
            SELECT device, isGiven, standing, version, kind, size, digest FROM keepNote
            WHERE folder = ?1 AND name = ?2 ORDER BY device, isGiven
            """)
        insert = try RawStatement(
            database,
            """
            INSERT INTO keepNote (folder, name, device, isGiven, standing, version, kind, size, digest)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        delete = try RawStatement(database, "DELETE FROM keepNote WHERE folder = ?1 AND name = ?2")
    }

    func rows(of name: String) throws -> [KeepRow] {
        try select.bind(1, folder)
        try select.bind(2, name)
        defer { select.reset() }
        var rows: [KeepRow] = []
        while try select.step() {
            var device = ByteReader(select.bytes(0))
            guard let number = Int32(exactly: select.integer(4)), let kind = FileInfo.Kind(rawValue: number) else {
                throw MalformedRow("kind of a promise")
            }
            var digest = ByteReader(select.bytes(6))
            rows.append(
                KeepRow(
                    device: DeviceID(digest: try device.digest()), isGiven: select.integer(1) != 0,
                    standing: select.integer(2),
                    content: KeepContent(
                        version: try AnnouncementCoding.version(select.bytes(3)), kind: kind, size: select.integer(5),
                        digest: digest.isAtEnd ? nil : try digest.digest())))
        }
        return rows
    }

    /// Makes `rows` all that is noted of `name`.
    func replace(_ name: String, with rows: [KeepRow]) throws {
        try delete.bind(1, folder)
        try delete.bind(2, name)
        try delete.run()
        for row in rows {
            var version: [UInt8] = []
            AnnouncementCoding.append(row.content.version, to: &version)
            try insert.bind(1, folder)
            try insert.bind(2, name)
            try insert.bind(3, row.device.digest.bytes)
            try insert.bind(4, row.isGiven ? 1 : 0)
            try insert.bind(5, row.standing)
            try insert.bind(6, version)
            try insert.bind(7, Int64(row.content.kind.rawValue))
            try insert.bind(8, row.content.size)
            if let digest = row.content.digest {
                try insert.bind(9, digest.bytes)
            } else {
                try insert.bind(9, Int64?.none)
            }
            try insert.run()
        }
    }
}
