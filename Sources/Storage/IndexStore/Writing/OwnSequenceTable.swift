import GRDB

// bounded-names: sequence position first: `RawStatement.counter` bounds what rows hold to 2^62

/// What this device announces of a folder, in the order of its sequence.
///
/// New rows are gathered and written many at a time when the transaction ends: they all go to the end of the table, and
/// one statement for all of them costs half of one for each.
struct OwnSequenceTable {
    private let folder: Int64
    /// The highest sequence given so far.
    private(set) var sequence: Int64
    /// The entries announced since the transaction began, under consecutive sequences up to `sequence`; nil for one that
    /// was taken back.
    private var added: [Int64?] = []
    private let insertMany: RawStatement
    private let insertOne: RawStatement
    private let delete: RawStatement

    private static let rowsAtATime = 50

    init(_ database: Database, folder: Folder) throws {
        self.folder = folder.number
        sequence = folder.sequence
        let rows = (0..<Self.rowsAtATime).map { "(?1, ?\(2 * $0 + 2), ?\(2 * $0 + 3))" }
        insertMany = try RawStatement(
            database, "INSERT INTO own (folder, sequence, entry) VALUES \(rows.joined(separator: ", "))")
        insertOne = try RawStatement(database, "INSERT INTO own (folder, sequence, entry) VALUES (?1, ?2, ?3)")
        delete = try RawStatement(database, "DELETE FROM own WHERE folder = ?1 AND sequence = ?2")
    }

    /// The sequence that the next announcement will have.
    var next: Int64 { sequence + 1 }

    /// Announces `entry` under the next sequence.
    mutating func announce(_ entry: Int64) -> Int64 {
        sequence += 1
        added.append(entry)
        return sequence
    }

    mutating func withdraw(_ withdrawn: Int64) throws {
        let position = Int64(added.count) - 1 - (sequence - withdrawn)
        if position >= 0 {
            guard position < added.count else { throw MalformedRow("an entry has a sequence that was never given") }
            added[Int(position)] = nil
            return
        }
        try delete.bind(1, folder)
        try delete.bind(2, withdrawn)
        try delete.run()
    }

    /// Writes what was gathered.
    mutating func flush() throws {
        let first = sequence - Int64(added.count) + 1
        let rows = added.enumerated().compactMap { index, entry in entry.map { (first + Int64(index), $0) } }
        added.removeAll()
        var rest = rows[...]
        while !rest.isEmpty {
            let count = rest.count < Self.rowsAtATime ? 1 : Self.rowsAtATime
            let statement = count == 1 ? insertOne : insertMany
            try statement.bind(1, folder)
            for (index, row) in rest.prefix(count).enumerated() {
                try statement.bind(Int32(2 * index + 2), row.0)
                try statement.bind(Int32(2 * index + 3), row.1)
            }
            try statement.run()
            rest = rest.dropFirst(count)
        }
    }
}
