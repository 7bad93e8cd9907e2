import BlockExchange
import GRDB

/// What this device knows of its own files next to their announcements, and where each block lies on this disk.
struct LocalTable {
    typealias State = (flags: LocalFlags, isOnDisk: Bool)

    private let replace: RawStatement
    private let delete: RawStatement
    private let select: RawStatement
    private let updateFlags: RawStatement
    private let updateStatus: RawStatement
    private let insertBlock: RawStatement
    private let deleteBlock: RawStatement

    init(_ database: Database) throws {
        replace = try RawStatement(
            database,
            """
            INSERT OR REPLACE INTO local (entry, flags, inode, changed, changedNanoseconds)
            VALUES (?1, ?2, ?3, ?4, ?5)
            """)
        delete = try RawStatement(database, "DELETE FROM local WHERE entry = ?1")
        select = try RawStatement(database, "SELECT flags, inode IS NOT NULL FROM local WHERE entry = ?1")
        updateFlags = try RawStatement(database, "UPDATE local SET flags = ?2 WHERE entry = ?1")
        updateStatus = try RawStatement(
            database, "UPDATE local SET inode = ?2, changed = ?3, changedNanoseconds = ?4 WHERE entry = ?1")
        insertBlock = try RawStatement(
            database, "INSERT OR IGNORE INTO localBlock (hash, entry, block) VALUES (?1, ?2, ?3)")
        deleteBlock = try RawStatement(
            database, "DELETE FROM localBlock WHERE hash = ?1 AND entry = ?2 AND block = ?3")
    }

    /// No flags and not on disk if there is no row.
    func read(_ entry: Int64) throws -> State {
        try select.bind(1, entry)
        return try select.first { row in
            (LocalFlags(rawValue: UInt8(truncatingIfNeeded: row.integer(0))), row.integer(1) != 0)
        } ?? ([], false)
    }

    /// Whether this device has, or had before it was ignored, something of the entry.
    func isNoted(_ entry: Int64) throws -> Bool {
        try select.bind(1, entry)
        return try select.first { _ in true } ?? false
    }

    func setFlags(_ flags: LocalFlags, of entry: Int64) throws {
        try updateFlags.bind(1, entry)
        try updateFlags.bind(2, Int64(flags.rawValue))
        try updateFlags.run()
    }

    func setStatus(_ status: FileStatus, of entry: Int64) throws {
        try updateStatus.bind(1, entry)
        try updateStatus.bind(2, Int64(bitPattern: status.inode))
        try updateStatus.bind(3, status.changedSeconds)
        try updateStatus.bind(4, Int64(status.changedNanoseconds))
        try updateStatus.run()
    }

    func write(_ local: LocalEntry, of entry: Int64) throws {
        try replace.bind(1, entry)
        try replace.bind(2, Int64(local.flags.rawValue))
        try replace.bind(3, local.status.map { Int64(bitPattern: $0.inode) })
        try replace.bind(4, local.status?.changedSeconds ?? 0)
        try replace.bind(5, Int64(local.status?.changedNanoseconds ?? 0))
        try replace.run()
    }

    func remove(_ entry: Int64) throws {
        try delete.bind(1, entry)
        try delete.run()
    }

    /// Blocks are found by the first eight bytes of their hash; whoever looks one up compares the whole.
    func addBlocks(_ blocks: [BlockInfo], of entry: Int64) throws {
        for (index, block) in blocks.enumerated() {
            try insertBlock.bind(1, Self.key(of: block))
            try insertBlock.bind(2, entry)
            try insertBlock.bind(3, Int64(index))
            try insertBlock.run()
        }
    }

    func removeBlocks(_ blocks: [BlockInfo], of entry: Int64) throws {
        for (index, block) in blocks.enumerated() {
            try deleteBlock.bind(1, Self.key(of: block))
            try deleteBlock.bind(2, entry)
            try deleteBlock.bind(3, Int64(index))
            try deleteBlock.run()
        }
    }

    private static func key(of block: BlockInfo) -> Int64 { Int64(bitPattern: block.hash.words.0) }
}
