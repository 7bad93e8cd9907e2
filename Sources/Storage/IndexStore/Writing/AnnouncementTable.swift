import BlockExchange
import GRDB

/// The rows of `announced`: what each device says of each entry.
struct AnnouncementTable {
    private let select: RawStatement
    private let replace: RawStatement
    private let readOwn: RawStatement
    private let updateFlags: RawStatement
    private let delete: RawStatement
    private let findAny: RawStatement
    private let blockLists: BlockListTable
    /// Bytes of the row that is being written; kept for its capacity.
    private var scratch: [UInt8] = []

    init(_ database: Database) throws {
        select = try RawStatement(
            database, "SELECT \(AnnouncementCoding.columns) FROM announced WHERE entry = ?1 ORDER BY announcer")
        replace = try RawStatement(
            database,
            """
            INSERT OR REPLACE INTO announced (entry, \(AnnouncementCoding.columns))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            """)
        readOwn = try RawStatement(
            database,
            """
            SELECT entry.own IS NOT NULL, won.flags,
                EXISTS (
                    SELECT 1 FROM announced AS mine
                    WHERE mine.entry = entry.id AND mine.announcer = \(Announcement.thisDevice))
            FROM entry LEFT JOIN announced AS won ON won.entry = entry.id AND won.announcer = entry.winner
            WHERE entry.id = ?1
            """)
        updateFlags = try RawStatement(
            database, "UPDATE announced SET flags = ?3 WHERE entry = ?1 AND announcer = ?2")
        delete = try RawStatement(database, "DELETE FROM announced WHERE entry = ?1 AND announcer = ?2")
        findAny = try RawStatement(database, "SELECT 1 FROM announced WHERE entry = ?1 LIMIT 1")
        blockLists = try BlockListTable(database)
    }

    /// Whether anybody announces `entry`, refused or not.
    func isAnnounced(_ entry: Int64) throws -> Bool {
        try findAny.bind(1, entry)
        return try findAny.first { _ in true } ?? false
    }

    /// Whether what this device announces of `entry` is as it must be if the name is ignored, or is not; false also where
    /// that can only be told from the whole rows, because this device has something of its own to say.
    func isSettled(_ entry: Int64, isIgnored: Bool) throws -> Bool {
        try readOwn.bind(1, entry)
        return try readOwn.first { row in
            let isValid = row.optionalInteger(1).map { !AnnouncementCoding.isInvalid($0) } ?? false
            return row.integer(2) == 0 && (row.integer(0) != 0) == (isIgnored && isValid)
        } ?? true
    }

    /// What all devices announce of `entry`.
    func announcements(of entry: Int64) throws -> [Announcement] {
        try select.bind(1, entry)
        defer { select.reset() }
        var announcements: [Announcement] = []
        while try select.step() { announcements.append(try AnnouncementCoding.announcement(select)) }
        return announcements
    }

    /// Writes what `announcer` says of `entry` in place of `old`, which it said before.
    ///
    /// - parameter keepsContent: the blocks of `old` stay with the entry: it is the same version, taken back.
    mutating func write(
        _ file: FileInfo, by announcer: Int64, of entry: Int64, replacing old: StoredContent, keepsContent: Bool = false
    ) throws -> StoredContent {
        let content = try keepsContent ? old : blockLists.acquire(for: file)
        scratch.removeAll(keepingCapacity: true)
        AnnouncementCoding.append(file.version, to: &scratch)
        let versionEnd = scratch.count
        AnnouncementCoding.append(content, to: &scratch)
        let contentEnd = scratch.count
        AnnouncementCoding.appendExtra(of: file, to: &scratch)
        try replace.bind(1, entry)
        try replace.bind(2, announcer)
        try replace.bind(3, file.sequence)
        try replace.bind(4, AnnouncementCoding.flags(of: file))
        try replace.bind(5, file.size)
        try replace.bind(6, Int64(file.permissions))
        try replace.bind(7, file.modifiedSeconds)
        try replace.bind(8, Int64(file.modifiedNanoseconds))
        try replace.bind(9, Int64(bitPattern: file.modifiedBy.rawValue))
        try scratch.withUnsafeBytes { bytes in
            try replace.bind(10, borrowedBlob: UnsafeRawBufferPointer(rebasing: bytes[..<versionEnd]))
            if case .list(let id) = content {
                try replace.bind(11, id)
            } else {
                try replace.bind(11, borrowedBlob: UnsafeRawBufferPointer(rebasing: bytes[versionEnd..<contentEnd]))
            }
            try replace.bind(12, borrowedBlob: UnsafeRawBufferPointer(rebasing: bytes[contentEnd...]))
            try replace.run()
        }
        if !keepsContent { try blockLists.release(old) }
        return content
    }

    /// Writes kind, validity and the like of `file`, and nothing else of it, to what `announcer` says of `entry`.
    func setFlags(of file: FileInfo, by announcer: Int64, of entry: Int64) throws {
        try updateFlags.bind(1, entry)
        try updateFlags.bind(2, announcer)
        try updateFlags.bind(3, AnnouncementCoding.flags(of: file))
        try updateFlags.run()
    }

    func remove(_ announcement: Announcement, of entry: Int64) throws {
        try delete.bind(1, entry)
        try delete.bind(2, announcement.announcer)
        try delete.run()
        try blockLists.release(announcement.content)
    }
}
