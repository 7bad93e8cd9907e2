import BlockExchange
import GRDB

/// Finds out whether what this device has of an entry is the winner.
struct NeedReader {
    /// What can be told of an entry without reading it whole.
    struct Glance {
        var isNeeded: Bool
        var hasChildren: Bool
        /// Whether this device does not vouch for what it has.
        var isLocalInvalid: Bool
        /// Whether this device has it, on disk or not, and not as deleted.
        var isLocalPresent: Bool
        /// What the winner adds to the directories above it.
        var winner = Aggregate.zero
        var isWinnerDeleted = false
    }

    private let reader: IndexReader
    private let compare: RawStatement

    init(_ database: Database, _ reader: IndexReader) throws {
        self.reader = reader
        // Equal versions are equal bytes (`VersionVector` is normal), so most entries are told by a comparison in SQL.
        compare = try RawStatement(
            database,
            """
            SELECT entry.winner, won.flags, won.size, won.version IS NULL, mine.flags, mine.version IS won.version,
                EXISTS (SELECT 1 FROM entry AS child WHERE child.parent = entry.id)
            FROM entry
                LEFT JOIN announced AS won ON won.entry = entry.id AND won.announcer = entry.winner
                LEFT JOIN announced AS mine ON mine.entry = entry.id AND mine.announcer = \(Announcement.thisDevice)
            WHERE entry.id = ?1
            """)
    }

    func glance(at entry: Int64) throws -> Glance {
        try compare.bind(1, entry)
        return try compare.first { row in
            let mine = row.optionalInteger(4)
            var glance = Glance(
                isNeeded: false, hasChildren: row.integer(6) != 0,
                isLocalInvalid: mine.map(AnnouncementCoding.isInvalid) ?? false,
                isLocalPresent: mine.map { !AnnouncementCoding.isDeleted($0) } ?? false)
            guard let winner = row.optionalInteger(0), let flags = row.optionalInteger(1) else { return glance }
            glance.isWinnerDeleted = AnnouncementCoding.isDeleted(flags)
            // A version that nobody counted up is none, as in Syncthing: who has such a thing gives it one.
            let isVersion = row.integer(3) == 0
            if AnnouncementCoding.isInvalid(flags) { return glance }
            if !isVersion {
                glance.isNeeded = glance.isLocalPresent && !glance.isLocalInvalid && row.integer(5) != 0
                return glance
            }
            if winner == Announcement.thisDevice { return glance }
            glance.isNeeded = mine == nil ? !glance.isWinnerDeleted : glance.isLocalInvalid || row.integer(5) == 0
            if glance.isNeeded, !glance.isWinnerDeleted {
                glance.winner = Aggregate(of: try AnnouncementCoding.kind(flags), size: row.integer(2))
            }
            return glance
        } ?? Glance(isNeeded: false, hasChildren: false, isLocalInvalid: false, isLocalPresent: false)
    }

    /// What is known of the entry, whether it has a winner or not.
    func facts(of id: Int64, path: String) throws -> NameFacts {
        if let entry = try entry(id, path: path) { return NameFacts(entry) }
        let own = try reader.winnerAndOwn(of: id).own
        guard let mine = try reader.announcements(of: id).first(where: { $0.announcer == Announcement.thisDevice })
        else { return NameFacts(name: path) }
        var local = try reader.local(mine, of: id, path: path)
        local.file.sequence = own ?? 0
        local.file.blocksHash = try reader.blocksHash(of: mine)
        return NameFacts(name: path, local: local)
    }

    /// The entry whole; nil if it has no winner.
    func entry(_ id: Int64, path: String) throws -> NeededEntry? {
        let (winner, own) = try reader.winnerAndOwn(of: id)
        let rows = try reader.announcements(of: id)
        guard let winning = rows.first(where: { $0.announcer == winner }) else { return nil }
        var entry = NeededEntry(file: winning.file, holders: try reader.holders(of: winning, among: rows, for: id))
        entry.rivals = reader.rivals(of: winning, among: rows)
        entry.file.name = path
        entry.file.blocksHash = try reader.blocksHash(of: winning)
        if let mine = rows.first(where: { $0.announcer == Announcement.thisDevice }) {
            entry.local = try reader.local(mine, of: id, path: path)
            entry.local?.file.sequence = own ?? 0
            entry.local?.file.blocksHash = try reader.blocksHash(of: mine)
        }
        return entry
    }
}

/// Goes through the entries that this device keeps and needs, opening only directories in which there may be some.
struct NeedWalk {
    struct Found {
        var id: Int64
        var path: String
        var glance: NeedReader.Glance
    }

    private var walk: TreeWalk
    private let need: NeedReader
    private let isKept: (String) -> Bool
    private let mayContain: (String) -> Bool
    private var remaining: Int
    /// Where the next walk has to go on; nil after the last entry.
    private(set) var cursor: String?

    /// - parameter limit: how many entries to look at.
    init(
        _ database: Database, _ need: NeedReader, folder: Folder, below directory: String, after: String?, limit: Int,
        isKept: @escaping (String) -> Bool, mayContain: @escaping (String) -> Bool
    ) throws {
        walk = try TreeWalk(database, folder: folder, below: directory, after: after)
        if !mayContain(after ?? directory) { walk.skipBelow() }
        self.need = need
        self.isKept = isKept
        self.mayContain = mayContain
        remaining = limit
        cursor = after
    }

    /// The next one needed; nil at the end, or when as many as may be were looked at.
    mutating func next() throws -> Found? {
        while remaining > 0 {
            remaining -= 1
            guard let step = try walk.next() else {
                cursor = nil
                return nil
            }
            cursor = step.path
            guard isKept(step.path) else {
                if !mayContain(step.path) { walk.skipBelow() }
                continue
            }
            let glance = try need.glance(at: step.id)
            if !glance.hasChildren || !mayContain(step.path) { walk.skipBelow() }
            if glance.isNeeded { return Found(id: step.id, path: step.path, glance: glance) }
        }
        return nil
    }
}
