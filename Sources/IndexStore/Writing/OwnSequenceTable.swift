import GRDB

/// What this device announces of a folder, in the order of its sequence.
struct OwnSequenceTable {
    private let folder: Int64
    /// The highest sequence given so far.
    private(set) var sequence: Int64
    private let insert: RawStatement
    private let delete: RawStatement

    init(_ database: Database, folder: Folder) throws {
        self.folder = folder.number
        sequence = folder.sequence
        insert = try RawStatement(database, "INSERT INTO own (folder, sequence, entry) VALUES (?1, ?2, ?3)")
        delete = try RawStatement(database, "DELETE FROM own WHERE folder = ?1 AND sequence = ?2")
    }

    /// The sequence that the next announcement will have.
    var next: Int64 { sequence + 1 }

    /// Announces `entry` under the next sequence.
    mutating func announce(_ entry: Int64) throws -> Int64 {
        sequence += 1
        try insert.bind(1, folder)
        try insert.bind(2, sequence)
        try insert.bind(3, entry)
        try insert.run()
        return sequence
    }

    func withdraw(_ sequence: Int64) throws {
        try delete.bind(1, folder)
        try delete.bind(2, sequence)
        try delete.run()
    }
}
