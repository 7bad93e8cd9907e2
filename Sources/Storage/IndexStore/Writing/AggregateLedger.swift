import GRDB

/// Gathers what a transaction changes below each directory and writes it once, up the chain to the root.
struct AggregateLedger {
    private var changes: [Int64: AggregateSums] = [:]
    /// The directory that changed last, and how: changes come mostly directory by directory.
    private var current = none
    private var currentChange = AggregateSums.zero

    /// No entry's id.
    private static let none: Int64 = 0

    private let read: RawStatement
    private let write: RawStatement

    init(_ database: Database) throws {
        read = try RawStatement(database, "SELECT \(AggregateSums.columns) FROM aggregate WHERE entry = ?1")
        let places = (1...13).map { "?\($0)" }.joined(separator: ", ")
        write = try RawStatement(
            database, "INSERT OR REPLACE INTO aggregate (entry, \(AggregateSums.columns)) VALUES (\(places))")
    }

    /// Takes a change of what is in `directory`.
    mutating func add(_ change: AggregateSums, in directory: Int64) {
        if directory != current {
            changes[current, default: .zero] += currentChange
            current = directory
            currentChange = .zero
        }
        currentChange += change
    }

    mutating func flush(_ entries: EntryTable) throws {
        add(.zero, in: Self.none)
        var totals: [Int64: AggregateSums] = [:]
        var parents: [Int64: Int64?] = [:]
        for (directory, change) in changes where change != .zero {
            var current: Int64? = directory
            var levels = 0
            while let id = current {
                levels += 1
                try EntryDepth.check(levels)
                totals[id, default: .zero] += change
                if let parent = parents[id] {
                    current = parent
                } else {
                    guard let entry = try entries.read(id) else { throw MalformedRow("no entry \(id)") }
                    parents[id] = .some(entry.parent)
                    current = entry.parent
                }
            }
        }
        changes.removeAll(keepingCapacity: true)
        for (directory, change) in totals where change != .zero {
            try read.bind(1, directory)
            var sums = try read.first { AggregateSums($0) } ?? .zero
            sums += change
            try write.bind(1, directory)
            for (position, value) in zip(Int32(2)..., sums.values) { try write.bind(position, value) }
            try write.run()
        }
    }
}
