import BlockExchange
import Cryptography
import GRDB

/// Reads whole entries of one folder within one transaction.
final class IndexReader {
    let folder: Folder
    private let devices: [Int64: DeviceID]
    private let findEntry: RawStatement
    private let readEntry: RawStatement
    private let readWinner: RawStatement
    private let selectAnnouncements: RawStatement
    private let readAggregate: RawStatement
    private let readLocal: RawStatement
    private let blockLists: BlockListReader
    private let refusals: RefusalTable

    init(_ database: Database, folder: Folder) throws {
        self.folder = folder
        devices = try Announcer.all(of: folder.number, database)
        findEntry = try RawStatement(
            database, "SELECT id, winner, own FROM entry WHERE parent = ?1 AND name = ?2")
        readEntry = try RawStatement(database, "SELECT parent, name FROM entry WHERE id = ?1")
        readWinner = try RawStatement(database, "SELECT winner, own FROM entry WHERE id = ?1")
        selectAnnouncements = try RawStatement(
            database, "SELECT \(AnnouncementCoding.columns) FROM announced WHERE entry = ?1 ORDER BY announcer")
        readAggregate = try RawStatement(database, "SELECT \(AggregateSums.columns) FROM aggregate WHERE entry = ?1")
        readLocal = try RawStatement(
            database, "SELECT \(LocalEntry.columns) FROM local WHERE entry = ?1")
        blockLists = try BlockListReader(database)
        refusals = try RefusalTable(database, folder: folder)
    }

    struct Found {
        var id: Int64
        var winner: Int64?
        var own: Int64?
    }

    /// The entry at `path`, a relative path or empty for the root; nil if nobody ever named it.
    func find(_ path: String) throws -> Found? {
        var found = Found(id: folder.root)
        if path.isEmpty { return found }
        for component in Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            try findEntry.bind(1, found.id)
            let child = try component.withUnsafeBytes { name in
                try findEntry.bind(2, borrowedText: name)
                return try findEntry.first { row in
                    Found(id: row.integer(0), winner: row.optionalInteger(1), own: row.optionalInteger(2))
                }
            }
            guard let child else { return nil }
            found = child
        }
        return found
    }

    /// Whose announcement of `entry` wins, and the sequence under which this device announces it.
    func winnerAndOwn(of entry: Int64) throws -> (winner: Int64?, own: Int64?) {
        try readWinner.bind(1, entry)
        return try readWinner.first { ($0.optionalInteger(0), $0.optionalInteger(1)) } ?? (nil, nil)
    }

    func announcements(of entry: Int64) throws -> [Announcement] {
        try selectAnnouncements.bind(1, entry)
        defer { selectAnnouncements.reset() }
        var announcements: [Announcement] = []
        while try selectAnnouncements.step() {
            announcements.append(try AnnouncementCoding.announcement(selectAnnouncements))
        }
        return announcements
    }

    /// What is below `entry`.
    func sums(below entry: Int64) throws -> AggregateSums {
        try readAggregate.bind(1, entry)
        return try readAggregate.first { AggregateSums($0) } ?? .zero
    }

    /// The entry whole, as callers see it.
    ///
    /// - Parameter own: the sequence under which this device announces it.
    func entry(_ id: Int64, winner: Int64?, own: Int64?, path: String) throws -> GlobalEntry {
        let rows = try announcements(of: id)
        let sums = try sums(below: id)
        var entry = GlobalEntry(
            folder: folder.id, path: path, file: nil, below: sums.below, selected: sums.selected, present: sums.present)
        let winning = rows.first { $0.announcer == winner }
        let mine = rows.first { $0.announcer == Announcement.thisDevice }
        if let winning {
            entry.file = winning.file
            entry.file?.name = path
            entry.holders = try holders(of: winning, among: rows, for: id)
        }
        if let mine {
            entry.local = try self.local(mine, of: id, path: path)
        }
        if let file = entry.file {
            let local = entry.local
            let itself = AggregateSums(winner: file, mine: local?.file, own: own) {
                (flags: local?.flags ?? [], isOnDisk: local?.status != nil)
            }
            entry.isSelected = itself.selected != .zero
            entry.isVerified = itself.present != .zero
            entry.isHere = entry.isVerified
        }
        if let winning, let mine, let local = entry.local, !entry.isHere, entry.isPresent {
            entry.isHere = try isHereUnselected(local, mine, winning)
        }
        return entry
    }

    /// Whether `winning` is on this disk though this device does not select it: it was fetched there, or stayed.
    ///
    /// What is not selected takes the version of each winner. So its content decides.
    private func isHereUnselected(_ local: LocalEntry, _ mine: Announcement, _ winning: Announcement) throws -> Bool {
        guard local.flags == .ignored, local.status != nil, mine.file.version == winning.file.version else {
            return false
        }
        return try blockLists.isSameContent(mine, winning)
    }

    /// The other devices whose valid announcement of `entry` has the version and the content of `winning`, and counts.
    func holders(
        of winning: Announcement, among rows: [Announcement], for entry: Int64
    ) throws -> [DeviceID] {
        let holders = try rows.compactMap { row in
            let isHolder =
                try !row.file.isInvalid && row.file.version == winning.file.version
                && blockLists.isSameContent(row, winning) && refusals.refusal(row.announcer, entry) == .none
            return isHolder ? devices[row.announcer] : nil
        }
        return holders.count > 1 ? holders.sorted() : holders
    }

    /// The versions of the files that other devices have instead of `winning`, in the order of their ids.
    func rivals(of winning: Announcement, among rows: [Announcement]) -> [VersionVector] {
        guard rows.count > 1 else { return [] }
        let rivals = rows.compactMap { row -> (device: DeviceID, version: VersionVector)? in
            let file = row.file
            guard let device = devices[row.announcer], file.kind == .file, !file.isDeleted, !file.isInvalid,
                file.version != winning.file.version
            else { return nil }
            return (device, file.version)
        }
        return rivals.sorted { $0.device < $1.device }.map(\.version)
    }

    /// Whether an entry is to be listed: somebody has it, or somebody has something below it.
    static func isListed(_ entry: GlobalEntry) -> Bool {
        entry.isPresent || entry.below.count != 0
    }

    /// This device's own row of `entry`, without blocks.
    func local(_ announcement: Announcement, of entry: Int64, path: String) throws -> LocalEntry {
        try readLocal.bind(1, entry)
        var local = LocalEntry(file: announcement.file)
        local.file.name = path
        _ = try readLocal.first { local.read($0, from: 0) }
        return local
    }

    func blocksHash(of announcement: Announcement) throws -> SHA256Digest? {
        try blockLists.blocksHash(of: announcement)
    }

    func blocks(of announcement: Announcement) throws -> [BlockInfo] { try blockLists.blocks(of: announcement) }

    func file(_ announcement: Announcement, name: String) throws -> FileInfo {
        try blockLists.file(announcement, name: name)
    }

    /// The path of `entry`; nil for one that is not of this folder. `known` keeps paths of directories for the next
    /// call.
    func path(of entry: Int64, known: inout [Int64: [UInt8]]) throws -> String? {
        var components: [(id: Int64, name: [UInt8])] = []
        var path: [UInt8] = []
        var current = entry
        while current != folder.root {
            if let prefix = known[current] {
                path = prefix
                break
            }
            try readEntry.bind(1, current)
            let row = try readEntry.first { (parent: $0.optionalInteger(0), name: Array($0.bytes(1))) }
            guard let row, let parent = row.parent else { return nil }
            components.append((current, row.name))
            try EntryDepth.check(components.count)
            current = parent
        }
        for (index, component) in components.enumerated().reversed() {
            if !path.isEmpty { path.append(UInt8(ascii: "/")) }
            path += component.name
            if index > 0 { known[component.id] = path }
        }
        return String(decoding: path, as: UTF8.self)
    }
}
