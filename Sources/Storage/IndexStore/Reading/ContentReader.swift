import BlockExchange
import Cryptography
import GRDB

/// Finds the files of one folder on this disk that have given blocks.
struct ContentReader {
    private let reader: IndexReader
    private let select: RawStatement

    /// Of files that share a block, so many are compared.
    private static let candidateLimit = 1000

    init(_ database: Database, _ reader: IndexReader) throws {
        self.reader = reader
        select = try RawStatement(
            database,
            """
            SELECT localBlock.entry FROM localBlock CROSS JOIN entry ON entry.id = localBlock.entry
            WHERE localBlock.hash = ?1 AND localBlock.block = ?2 AND entry.folder = ?3 LIMIT \(Self.candidateLimit)
            """)
    }

    func files(with blocks: [BlockInfo], limit: Int) throws -> [LocalEntry] {
        // The last block is seldom shared: headers and runs of zeros are, but a last block has a length of its own.
        guard let last = blocks.last, let hash = FileInfo.blocksHash(of: blocks) else { return [] }
        try select.bind(1, Int64(bitPattern: last.hash.words.0))
        try select.bind(2, Int64(blocks.count - 1))
        try select.bind(3, reader.folder.number)
        defer { select.reset() }
        var known: [Int64: [UInt8]] = [:]
        var found: [LocalEntry] = []
        while found.count < limit, try select.step() {
            let entry = select.integer(0)
            guard
                let mine = try reader.announcements(of: entry).first(where: {
                    $0.announcer == Announcement.thisDevice
                }),
                try reader.blocksHash(of: mine) == hash
            else { continue }
            guard let path = try reader.path(of: entry, known: &known) else {
                throw MalformedRow("a local block of no entry")
            }
            var local = try reader.local(mine, of: entry, path: path)
            guard local.status != nil, local.file.kind == .file, !local.file.isDeleted else { continue }
            local.file.blocksHash = hash
            local.file.sequence = try reader.winnerAndOwn(of: entry).own ?? 0
            found.append(local)
        }
        return found.sorted { $0.file.name.utf8.lexicographicallyPrecedes($1.file.name.utf8) }
    }
}
