import BlockExchange
import GRDB

/// What a device has said of one name.
package struct DeviceStanding: Equatable, Sendable {
    package var device: DeviceID
    /// As announced, without blocks.
    package var file: FileInfo

    package init(device: DeviceID, file: FileInfo) {
        self.device = device
        self.file = file
    }
}

/// How much of a folder one device has.
package struct DeviceCompletion: Equatable, Sendable {
    /// In the winner's version, vouched for; of this device also what is on its disk and not selected.
    package var held = Aggregate.zero
    /// Known to it in the winner's version and not kept.
    package var notKept = Aggregate.zero
    /// Names that the winner deletes and of which it has another version that is not deleted.
    package var deletions: Int64 = 0

    package init(held: Aggregate = .zero, notKept: Aggregate = .zero, deletions: Int64 = 0) {
        self.held = held
        self.notKept = notKept
        self.deletions = deletions
    }

    fileprivate mutating func subtract(_ part: DeviceCompletion) {
        held -= part.held
        notKept -= part.notKept
        deletions -= part.deletions
    }
}

/// How much of a folder, or of what is below a directory, each device has.
package struct FolderCompletion: Equatable, Sendable {
    /// All that is there for somebody.
    package var global = Aggregate.zero
    package var here = DeviceCompletion()
    /// The others that have told what they have.
    package var devices: [DeviceID: DeviceCompletion] = [:]

    package init() {}

    /// What a device has neither got nor said that it does not keep.
    package func missing(of device: DeviceCompletion) -> Aggregate {
        var rest = global
        rest -= device.held
        rest -= device.notKept
        return rest
    }

    /// Takes out what `part`, which is a part of the same folder, says of each device.
    package mutating func subtract(_ part: FolderCompletion) {
        global -= part.global
        here.subtract(part.here)
        for (device, completion) in part.devices { devices[device]?.subtract(completion) }
    }

    fileprivate mutating func change(_ device: DeviceID?, _ body: (inout DeviceCompletion) -> Void) {
        if let device { body(&devices[device, default: DeviceCompletion()]) } else { body(&here) }
    }
}

/// What other devices have, name by name and in sum.
extension IndexStore {
    /// What the other devices have said of the name, in the order of their ids; empty if none has said anything.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func standings(in folder: FolderID, of path: String) async throws -> [DeviceStanding] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let devices = try Announcer.all(of: row.number, database)
            let reader = try IndexReader(database, folder: row)
            guard let found = try reader.find(path) else { return [] }
            return try reader.announcements(of: found.id).compactMap { announcement in
                devices[announcement.announcer].map { DeviceStanding(device: $0, file: announcement.file) }
            }.sorted { $0.device < $1.device }
        }
    }

    /// The devices that have told what they have of `folder`, be it nothing.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func announcers(of folder: FolderID) async throws -> Set<DeviceID> {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database, "SELECT \(Announcer.columns) FROM announcer WHERE folder = ?1 AND indexID <> 0")
            try select.bind(1, row.number)
            defer { select.reset() }
            var devices: Set<DeviceID> = []
            while try select.step() { devices.insert(try Announcer(select).device) }
            return devices
        }
    }

    /// How much each device has of `folder`.
    ///
    /// Goes by the rows as they lie, in several transactions, so that a sum over a folder that changes meanwhile is of no
    /// one moment.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func completion(of folder: FolderID) async throws -> FolderCompletion {
        var completion = FolderCompletion()
        var next: Int64? = 1
        while let first = next {
            (completion, next) = try await read { [completion] database in
                let row = try Folder.find(folder, in: database)
                var completion = completion
                let end = try CompletionReader(database, row).add(from: first, to: &completion)
                // Not the next number: in a damaged index there may be 2^63 of them to the next entry.
                let select = try RawStatement(database, "SELECT id FROM entry WHERE id > ?1 ORDER BY id LIMIT 1")
                try select.bind(1, end)
                return (completion, try select.first { $0.integer(0) })
            }
        }
        for device in try await announcers(of: folder) where completion.devices[device] == nil {
            completion.devices[device] = DeviceCompletion()
        }
        return completion
    }

    /// How much each device has of what is below a directory.
    ///
    /// Costs a look-up for each name below it.
    ///
    /// - parameter includesItself: also counts the directory.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func completion(
        of folder: FolderID, below directory: String, includesItself: Bool = false
    ) async throws -> FolderCompletion {
        var completion = FolderCompletion()
        if includesItself {
            completion = try await read { database in
                let row = try Folder.find(folder, in: database)
                var itself = FolderCompletion()
                guard let found = try IndexReader(database, folder: row).find(directory) else { return itself }
                try CompletionReader(database, row).add(entry: found.id, to: &itself)
                return itself
            }
        }
        var cursor: String?
        repeat {
            let after = cursor
            (completion, cursor) = try await read { [completion] database in
                let row = try Folder.find(folder, in: database)
                let reader = try CompletionReader(database, row)
                var walk = try TreeWalk(database, folder: row, below: directory, after: after)
                var completion = completion
                var last: String?
                for _ in 0..<Self.lookLimit {
                    guard let step = try walk.next() else { return (completion, nil) }
                    try reader.add(entry: step.id, to: &completion)
                    last = step.path
                }
                return (completion, last)
            }
        } while cursor != nil
        return completion
    }

    /// The next names that `device` has yet to get: the winner is valid and the device has said nothing of it, or has
    /// another version. A name that it knows and does not keep is none of them.
    ///
    /// - parameter after: `next` of the page before, nil for the first.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func needed(
        by device: DeviceID, in folder: FolderID, after: String? = nil, limit: Int
    ) async throws -> IndexPage<GlobalEntry> {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            let announcer = try Announcer.find(device, in: row, database)?.number ?? -1
            let compare = try RawStatement(
                database,
                """
                SELECT entry.winner, won.flags, theirs.flags
                FROM entry
                    CROSS JOIN announced AS won ON won.entry = entry.id AND won.announcer = entry.winner
                    LEFT JOIN announced AS theirs ON theirs.entry = entry.id AND theirs.announcer = ?2
                WHERE entry.id = ?1 AND won.flags & 16 = 0 AND won.version IS NOT NULL
                    AND theirs.version IS NOT won.version
                """)
            var walk = try TreeWalk(database, folder: row, below: "", after: after)
            var page = IndexPage<GlobalEntry>(entries: [], next: after)
            for _ in 0..<Self.lookLimit where page.entries.count < limit {
                guard let step = try walk.next() else {
                    page.next = nil
                    return page
                }
                page.next = step.path
                try compare.bind(1, step.id)
                try compare.bind(2, announcer)
                let winner: Int64? =
                    try compare.first { row in
                        let isDeleted = AnnouncementCoding.isDeleted(row.integer(1))
                        let theirs = row.optionalInteger(2)
                        // What is deleted is only needed by who has it.
                        let isNeeded = !isDeleted || theirs.map { !AnnouncementCoding.isDeleted($0) } ?? false
                        return isNeeded ? row.integer(0) : nil
                    } ?? nil
                if let winner {
                    let own = try reader.winnerAndOwn(of: step.id).own
                    page.entries.append(try reader.entry(step.id, winner: winner, own: own, path: step.path))
                }
            }
            return page
        }
    }
}

/// Sums what devices announce against the winners.
private struct CompletionReader {
    /// Entries that one transaction looks at: so few that sums of parts of sizes cannot overflow, which SQLite would
    /// take for an error.
    static let rangeLimit: Int64 = 1 << 16

    private let folder: Folder
    private let devices: [Int64: DeviceID]
    private let ranges: (global: RawStatement, devices: RawStatement)
    private let entry: RawStatement
    private let unselected: RawStatement
    private let reader: IndexReader

    /// Of the winner: kind and whether deleted. Of another: whether it has the winner's version, and if it vouches for it;
    /// whether it has the name deleted.
    private static let join = """
        FROM entry CROSS JOIN announced AS won ON won.entry = entry.id AND won.announcer = entry.winner
        """
    private static let other = "CROSS JOIN announced AS other ON other.entry = entry.id"
    private static let winning = "won.flags & 16 = 0 AND won.version IS NOT NULL"
    /// Sizes come from peers and may be as large as numbers get.
    private static let sums = "count(*), sum(max(won.size, 0) >> 24), sum(max(won.size, 0) & 16777215)"
    private static let standing = "other.announcer, won.flags & 15, other.version IS won.version, other.flags & 24"

    init(_ database: Database, _ folder: Folder) throws {
        self.folder = folder
        devices = try Announcer.all(of: folder.number, database)
        let range = "WHERE entry.id >= ?1 AND entry.id <= ?2 AND entry.folder = ?3 AND \(Self.winning)"
        ranges = (
            try RawStatement(
                database, "SELECT 0, won.flags & 15, 1, 0, \(Self.sums) \(Self.join) \(range) GROUP BY 2"),
            try RawStatement(
                database,
                "SELECT \(Self.standing), \(Self.sums) \(Self.join) \(Self.other) \(range) GROUP BY 1, 2, 3, 4")
        )
        entry = try RawStatement(
            database,
            """
            SELECT \(Self.standing), 1, max(won.size, 0) >> 24, max(won.size, 0) & 16777215
            \(Self.join) \(Self.other) WHERE entry.id = ?1 AND \(Self.winning)
            """)
        unselected = try RawStatement(
            database,
            """
            SELECT entry.id FROM local CROSS JOIN entry ON entry.id = local.entry
            WHERE local.entry >= ?1 AND local.entry <= ?2 AND entry.folder = ?3 AND local.inode IS NOT NULL
                AND local.flags = \(LocalFlags.ignored.rawValue)
            """)
        reader = try IndexReader(database, folder: folder)
    }

    /// Adds the entries of the folder among the `rangeLimit` numbers from `first` on.
    ///
    /// - Returns: the last of these numbers.
    func add(from first: Int64, to completion: inout FolderCompletion) throws -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(Self.rangeLimit - 1)
        let last = overflow ? .max : sum
        for statement in [ranges.global, ranges.devices] {
            try statement.bind(1, first)
            try statement.bind(2, last)
            try statement.bind(3, folder.number)
        }
        defer {
            ranges.global.reset()
            ranges.devices.reset()
        }
        while try ranges.global.step() { completion.global += try Self.aggregate(ranges.global) }
        while try ranges.devices.step() { try add(ranges.devices, to: &completion) }
        try addUnselected(from: first, through: last, to: &completion)
        return last
    }

    func add(entry id: Int64, to completion: inout FolderCompletion) throws {
        try entry.bind(1, id)
        defer { entry.reset() }
        var isCounted = false
        while try entry.step() {
            if !isCounted { completion.global += try Self.aggregate(entry) }
            isCounted = true
            try add(entry, to: &completion)
        }
        try addUnselected(from: id, through: id, to: &completion)
    }

    /// What this device has on its disk and does not select, it announces as not kept. It has it all the same.
    private func addUnselected(from first: Int64, through last: Int64, to completion: inout FolderCompletion) throws {
        try unselected.bind(1, first)
        try unselected.bind(2, last)
        try unselected.bind(3, folder.number)
        var found: [Int64] = []
        while try unselected.step() { found.append(unselected.integer(0)) }
        for id in found {
            let facts = try reader.winnerAndOwn(of: id)
            let entry = try reader.entry(id, winner: facts.winner, own: facts.own, path: "")
            guard entry.isHere, let file = entry.file, !file.version.isEmpty else { continue }
            let sum = Aggregate(of: file)
            completion.here.held += sum
            completion.here.notKept -= sum
        }
    }

    private func add(_ row: RawStatement, to completion: inout FolderCompletion) throws {
        let announcer = row.integer(0)
        let device = devices[announcer]
        guard device != nil || announcer == Announcement.thisDevice else { return }
        let flags = row.integer(3)
        if AnnouncementCoding.isDeleted(row.integer(1)) {
            let isDone = row.integer(2) != 0 || AnnouncementCoding.isDeleted(flags)
            if !isDone { completion.change(device) { $0.deletions += row.integer(4) } }
        } else if row.integer(2) != 0 {
            let sum = try Self.aggregate(row)
            completion.change(device) { device in
                if AnnouncementCoding.isInvalid(flags) { device.notKept += sum } else { device.held += sum }
            }
        }
    }

    /// What the winners of a row come to; nothing if they are deleted.
    private static func aggregate(_ row: RawStatement) throws -> Aggregate {
        let flags = row.integer(1)
        guard !AnnouncementCoding.isDeleted(flags) else { return .zero }
        let (count, bytes) = (row.integer(4), row.integer(5) << 24 &+ row.integer(6))
        return switch try AnnouncementCoding.kind(flags) {
        case .directory: Aggregate(directories: count)
        case .file: Aggregate(files: count, bytes: bytes)
        case .symlink, .symlinkToFile, .symlinkToDirectory: Aggregate(symlinks: count)
        }
    }
}
