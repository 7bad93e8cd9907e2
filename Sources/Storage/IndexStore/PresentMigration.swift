import GRDB

/// What of each directory is selected and present, for an index from before that was kept (migration `v5-present`).
///
/// Reads what is announced of each name once, and keeps in memory a row for each directory that has something selected.
/// Like every migration it stays as it is: what `FolderWriter` keeps from then on may change, this may not.
enum PresentMigration {
    private static let columns = [
        "selectedFiles", "selectedSymlinks", "selectedDirectories", "selectedBytes", "presentFiles", "presentSymlinks",
        "presentDirectories", "presentBytes",
    ]

    static func run(_ database: Database) throws {
        for column in columns {
            try database.execute(sql: "ALTER TABLE aggregate ADD COLUMN \(column) INTEGER NOT NULL DEFAULT 0")
        }
        var sums = try sumsByDirectory(database)
        try addToAncestors(&sums, database)
        let places = columns.enumerated().map { "\($0.element) = ?\($0.offset + 2)" }.joined(separator: ", ")
        let update = try RawStatement(database, "UPDATE aggregate SET \(places) WHERE entry = ?1")
        for (directory, sum) in sums {
            try update.bind(1, directory)
            for (position, value) in zip(Int32(2)..., sum) { try update.bind(position, value) }
            try update.run()
        }
    }

    /// What is right in each directory, as the columns have it.
    private static func sumsByDirectory(_ database: Database) throws -> [Int64: [Int64]] {
        // A name that this device has nothing of is ignored if this device announces it all the same.
        let select = try RawStatement(
            database,
            """
            SELECT entry.parent, won.flags, max(won.size, 0), mine.flags, mine.version IS won.version,
                coalesce(local.flags, 0) & 2, local.inode IS NOT NULL, entry.own IS NOT NULL
            FROM entry
                CROSS JOIN announced AS won ON won.entry = entry.id AND won.announcer = entry.winner
                LEFT JOIN announced AS mine ON mine.entry = entry.id AND mine.announcer = 0
                LEFT JOIN local ON local.entry = entry.id
            WHERE entry.parent IS NOT NULL
            """)
        defer { select.reset() }
        var sums: [Int64: [Int64]] = [:]
        while try select.step() {
            let flags = select.integer(1)
            guard !AnnouncementCoding.isDeleted(flags), !AnnouncementCoding.isInvalid(flags) else { continue }
            let mine = select.optionalInteger(3)
            let isVouchedFor = mine.map { !AnnouncementCoding.isInvalid($0) } ?? false
            let isIgnored = mine == nil ? select.integer(7) != 0 : !isVouchedFor && select.integer(5) != 0
            guard !isIgnored else { continue }
            let isPresent = isVouchedFor && select.integer(4) != 0 && select.integer(6) != 0
            var added = [Int64](repeating: 0, count: 4)
            switch try AnnouncementCoding.kind(flags) {
            case .file: (added[0], added[3]) = (1, select.integer(2))
            case .symlink, .symlinkToFile, .symlinkToDirectory: added[1] = 1
            case .directory: added[2] = 1
            }
            let both = added + (isPresent ? added : [0, 0, 0, 0])
            let directory = select.integer(0)
            sums[directory] = zip(sums[directory] ?? both.map { _ in 0 }, both).map { $0 &+ $1 }
        }
        return sums
    }

    /// Adds what is right in each directory to all that are above it.
    private static func addToAncestors(_ sums: inout [Int64: [Int64]], _ database: Database) throws {
        let read = try RawStatement(database, "SELECT parent FROM entry WHERE id = ?1")
        var parents: [Int64: Int64?] = [:]
        for (directory, sum) in sums {
            var current = directory
            var levels = 0
            while true {
                levels += 1
                try EntryDepth.check(levels)
                if parents[current] == nil {
                    try read.bind(1, current)
                    parents[current] = .some(try read.first { $0.optionalInteger(0) } ?? nil)
                }
                guard let parent = parents[current] ?? nil else { break }
                sums[parent] = zip(sums[parent] ?? sum.map { _ in 0 }, sum).map { $0 &+ $1 }
                current = parent
            }
        }
    }
}
