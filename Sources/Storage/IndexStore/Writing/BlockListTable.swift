import BlockExchange
import Cryptography
import GRDB

/// The block lists, each stored once and counted by how many announcements use it.
struct BlockListTable {
    private let findByKey: RawStatement
    private let readData: RawStatement
    private let insertList: RawStatement
    private let insertData: RawStatement
    private let addUse: RawStatement
    private let removeUse: RawStatement
    private let deleteList: RawStatement
    private let deleteData: RawStatement

    init(_ database: Database) throws {
        findByKey = try RawStatement(database, "SELECT id FROM blockList WHERE key = ?1")
        readData = try RawStatement(database, "SELECT data FROM blockListData WHERE id = ?1")
        insertList = try RawStatement(database, "INSERT INTO blockList (key, uses) VALUES (?1, 1)")
        insertData = try RawStatement(database, "INSERT INTO blockListData (id, data) VALUES (?1, ?2)")
        addUse = try RawStatement(database, "UPDATE blockList SET uses = uses + 1 WHERE id = ?1")
        removeUse = try RawStatement(
            database, "UPDATE blockList SET uses = uses - 1 WHERE id = ?1 RETURNING uses")
        deleteList = try RawStatement(database, "DELETE FROM blockList WHERE id = ?1")
        deleteData = try RawStatement(database, "DELETE FROM blockListData WHERE id = ?1")
    }

    /// Where the blocks of `file` are from now on; counts one use more.
    func acquire(for file: FileInfo) throws -> StoredContent {
        guard let first = file.blocks.first else { return .none }
        if file.blocks.count == 1, first.offset == 0, Int64(first.size) == file.size {
            return .block(hash: first.hash, weakHash: first.weakHash)
        }
        let data = BlockListCoding.encode(file)
        // A digest of all that is written, not of the hashes alone: lists that differ only in weak hashes must not
        // collide, or a peer could make every look-up walk through all of them.
        let key = Int64(bitPattern: SHA256.digest(data).words.0)
        if let id = try find(data, key: key) {
            try addUse.bind(1, id)
            try addUse.run()
            return .list(id)
        }
        try insertList.bind(1, key)
        try insertList.run()
        let id = insertList.lastInsertedRowID
        try data.withUnsafeBytes {
            try insertData.bind(1, id)
            try insertData.bind(2, borrowedBlob: $0)
            try insertData.run()
        }
        return .list(id)
    }

    /// Gives up one use; the last one takes the list along.
    func release(_ content: StoredContent) throws {
        guard case .list(let id) = content else { return }
        try removeUse.bind(1, id)
        guard let uses = try removeUse.first({ $0.integer(0) }) else { throw MalformedRow("no block list \(id)") }
        guard uses <= 0 else { return }
        try deleteList.bind(1, id)
        try deleteList.run()
        try deleteData.bind(1, id)
        try deleteData.run()
    }

    private func find(_ data: [UInt8], key: Int64) throws -> Int64? {
        try findByKey.bind(1, key)
        defer { findByKey.reset() }
        while try findByKey.step() {
            let id = findByKey.integer(0)
            try readData.bind(1, id)
            let isSame = try readData.first { row in data.elementsEqual(row.bytes(0)) }
            if isSame == true { return id }
        }
        return nil
    }
}

/// Reads the blocks of announcements.
struct BlockListReader {
    private let readData: RawStatement

    init(_ database: Database) throws {
        readData = try RawStatement(database, "SELECT data FROM blockListData WHERE id = ?1")
    }

    func blocks(of announcement: Announcement) throws -> [BlockInfo] {
        switch announcement.content {
        case .none: return []
        case .block(let hash, let weakHash):
            guard let size = Int32(exactly: announcement.file.size) else { throw MalformedRow("size of one block") }
            return [BlockInfo(offset: 0, size: size, hash: hash, weakHash: weakHash)]
        case .list(let id):
            try readData.bind(1, id)
            let blocks = try readData.first { try BlockListCoding.decode($0.bytes(0), file: announcement.file) }
            guard let blocks else { throw MalformedRow("no block list \(id)") }
            return blocks
        }
    }

    /// What the blocks of an announcement are recognised by: SHA-256 over their hashes, nil without blocks.
    func blocksHash(of announcement: Announcement) throws -> SHA256Digest? {
        switch announcement.content {
        case .none: return nil
        case .block(let hash, _): return hash.withUnsafeBytes { SHA256.digest($0) }
        case .list(let id):
            try readData.bind(1, id)
            let hash = try readData.first { try BlockListCoding.blocksHash($0.bytes(0)) }
            guard let hash else { throw MalformedRow("no block list \(id)") }
            return hash
        }
    }

    /// Whether two announcements of one name say the same of what it is: kind, deleted, size, target and blocks. An invalid
    /// one says nothing of a file's content, unless it is known from before: see `AnnouncementTable.write`.
    func isSameContent(_ one: Announcement, _ other: Announcement) throws -> Bool {
        try Self.isSameContent(one.file, other.file) {
            guard one.content != .none, other.content != .none else { return false }
            return try one.content == other.content || blocksHash(of: one) == blocksHash(of: other)
        }
    }

    /// The same for what is not written yet; `file` has its blocks.
    func isSameContent(_ one: Announcement, _ file: FileInfo) throws -> Bool {
        try Self.isSameContent(one.file, file) {
            guard one.content != .none, let hash = FileInfo.blocksHash(of: file.blocks) else { return false }
            return try blocksHash(of: one) == hash
        }
    }

    private static func isSameContent(
        _ one: FileInfo, _ other: FileInfo, hasSameBlocks: () throws -> Bool
    ) rethrows -> Bool {
        guard one.isDeleted == other.isDeleted, one.kind == other.kind || one.kind.isSymlink && other.kind.isSymlink
        else { return false }
        if one.isDeleted || one.kind == .directory { return true }
        if one.kind.isSymlink { return one.symlinkTarget == other.symlinkTarget }
        return try one.size == other.size && hasSameBlocks()
    }

    /// The announced entry whole: with `name`, blocks and the hash over them.
    func file(_ announcement: Announcement, name: String) throws -> FileInfo {
        var file = announcement.file
        file.name = name
        file.blocks = try blocks(of: announcement)
        file.blocksHash = FileInfo.blocksHash(of: file.blocks)
        return file
    }
}
