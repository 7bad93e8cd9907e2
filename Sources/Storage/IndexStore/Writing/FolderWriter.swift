import BlockExchange
import GRDB

/// Changes one folder's index within one transaction and keeps what follows from it: the winner of each name, the
/// aggregates above it, what this device announces of it.
///
/// What this device announces of a name is its own row if it has one (`Announcement.thisDevice`) that is not flagged as
/// ignored; else, if the name is ignored and the winner valid, the winner's version as invalid. So the state follows from
/// the announcements and the selection alone, whatever order they came in; only sequences remember the order.
final class FolderWriter {
    private var folder: Folder
    private let devices: [Int64: DeviceID]
    private let entries: EntryTable
    private var announcements: AnnouncementTable
    private var own: OwnSequenceTable
    private let locals: LocalTable
    private let blockLists: BlockListReader
    private let refusals: RefusalTable
    private var ledger: AggregateLedger
    private var directories: DirectoryResolver
    /// Whose announcements change: a row of `announcer`, or `Announcement.thisDevice`.
    private let announcer: Int64
    /// Rows of `announced` that it has more or less now.
    private var countChange: Int64 = 0
    /// Bytes of paths, and of what `byteCount` counts, that it announces more or less now.
    private var byteChange: Int64 = 0
    /// Entries that nobody announces any more: they go when nothing lies below them.
    private var unannounced: Set<Int64> = []
    private var result = ApplyResult()

    init(_ database: Database, folder: Folder, announcer: Int64) throws {
        self.folder = folder
        self.announcer = announcer
        devices = try Announcer.all(of: folder.number, database)
        entries = try EntryTable(database, folder: folder)
        announcements = try AnnouncementTable(database)
        own = try OwnSequenceTable(database, folder: folder)
        locals = try LocalTable(database)
        blockLists = try BlockListReader(database)
        refusals = try RefusalTable(database, folder: folder)
        ledger = try AggregateLedger(database)
        directories = DirectoryResolver(root: folder.root)
    }

    // MARK: what others announce

    /// Takes what the announcer says of one name.
    func announce(_ file: FileInfo, isIgnored: Bool) throws {
        var name = file.name
        try name.withUTF8 { utf8 in
            _ = try announce(file, at: UnsafeRawBufferPointer(utf8), isIgnored: isIgnored)
        }
        result.applied += 1
    }

    /// Takes back what the announcer said of `entry`.
    func withdraw(_ entry: Int64) throws {
        guard let row = try entries.read(entry) else { throw MalformedRow("no entry \(entry)") }
        let before = try rows(of: entry)
        guard let old = before.first(where: { $0.announcer == announcer }) else { return }
        let added = try sums(of: row, before)
        try announcements.remove(old, of: entry)
        countChange -= 1
        // Nobody is asked about the selection here: without a row of its own, what this device announces, it ignores.
        // A name that becomes valid by losing an announcement does not exist, so nothing new is to be announced.
        let isIgnored = row.own != nil && !before.contains { $0.announcer == Announcement.thisDevice }
        let after = before.filter { $0.announcer != announcer }
        try settle(row, added: added, before: before, after: after, isIgnored: isIgnored, name: nil)
    }

    /// Lets the announcer's announcement of `entry` count if it is of `version`, or, for nil, whatever it is; false if
    /// none of it is refused.
    func admit(_ entry: Int64, version: VersionVector?, isIgnored: Bool, name: String?) throws -> Bool {
        guard let row = try entries.read(entry) else { return false }
        let before = try rows(of: entry)
        guard let index = before.firstIndex(where: { $0.announcer == announcer && $0.refusal != .none }),
            version == nil || before[index].file.version == version
        else { return false }
        let added = try sums(of: row, before)
        var after = before
        after[index].refusal = .none
        try settle(row, added: added, before: before, after: after, isIgnored: isIgnored, name: name)
        return true
    }

    // MARK: what this device has

    func set(_ local: LocalEntry) throws {
        var file = local.file
        file.isInvalid = file.isInvalid || !local.flags.isEmpty
        var name = file.name
        try name.withUTF8 { utf8 in
            let entry = try announce(
                file, at: UnsafeRawBufferPointer(utf8), isIgnored: false,
                local: (flags: local.flags, isOnDisk: local.status != nil))
            try locals.write(local, of: entry)
            if local.status != nil, !file.isDeleted {
                folder.local += Aggregate(ofDisk: file)
                try locals.addBlocks(file.blocks, of: entry)
            }
        }
        result.applied += 1
    }

    /// Takes a new mark to recognise by what is on this disk.
    func note(_ name: String, _ status: FileStatus) throws {
        var name = name
        try name.withUTF8 { utf8 in
            guard let row = try find(UnsafeRawBufferPointer(utf8)), try locals.read(row.id).isOnDisk else { return }
            try locals.setStatus(status, of: row.id)
        }
    }

    func forget(_ name: String, isIgnored: Bool) throws {
        var copy = name
        try copy.withUTF8 { utf8 in
            guard let row = try find(UnsafeRawBufferPointer(utf8)) else { return }
            let before = try rows(of: row.id)
            guard let old = before.first(where: { $0.announcer == Announcement.thisDevice }) else { return }
            if isIgnored, Self.isVouchedForByOthers(before) {
                return try forget(old, of: row, before: before, isIgnored: isIgnored, name: name)
            }
            // Whoever heard that this device has the name must hear that it has not, and there is nothing else to say.
            if try old.file.isInvalid && !locals.read(row.id).isOnDisk { return }
            let file = FileInfo(
                name: name, kind: old.file.kind, permissions: old.file.permissions,
                modifiedSeconds: old.file.modifiedSeconds, modifiedNanoseconds: old.file.modifiedNanoseconds,
                isDeleted: old.file.isDeleted, isInvalid: true, hasNoPermissions: old.file.hasNoPermissions,
                version: old.file.version,
                modifiedBy: old.file.modifiedBy)
            let flags: LocalFlags = isIgnored ? .ignored : .mustRescan
            try locals.write(
                LocalEntry(file: file, flags: flags),
                of: announce(
                    file, at: UnsafeRawBufferPointer(utf8), isIgnored: false, local: (flags: flags, isOnDisk: false)))
        }
        result.applied += 1
    }

    private static func isVouchedForByOthers(_ announcements: [Announcement]) -> Bool {
        announcements.contains {
            $0.announcer != Announcement.thisDevice && !$0.file.isInvalid && $0.refusal == .none
        }
    }

    /// Brings `entry` in line with a changed selection.
    ///
    /// Of a name that this device has nothing of, the announcement as ignored comes or goes. What it has on disk is
    /// flagged when it is ignored, and is to be scanned when it is no longer: nobody watched it meanwhile. What it has
    /// to say of a name that is not on disk (that it was deleted) is forgotten with the name, unless others must still
    /// hear it: see `isStandingDeletion`. Nor is it forgotten if nobody vouches for the name: then others must hear that
    /// this device does not either.
    func reselect(_ entry: Int64, isIgnored: Bool) throws {
        if try announcements.isSettled(entry, isIgnored: isIgnored) { return }
        guard var row = try entries.read(entry), row.winner != nil else { return }
        let before = try rows(of: entry)
        let added = try sums(of: row, before)
        guard let old = before.first(where: { $0.announcer == Announcement.thisDevice }) else {
            if !isIgnored, row.own != nil, try locals.isNoted(entry),
                let winner = before.first(where: { $0.announcer == row.winner })?.file
            {
                return try announceAbsence(
                    row, winner, added: added, before: before, after: before, isIgnored: false, name: nil)
            }
            return try settle(row, added: added, before: before, after: before, isIgnored: isIgnored, name: nil)
        }
        let local = try locals.read(entry)
        let isOnDisk = local.isOnDisk && !old.file.isDeleted
        let isStandingDeletion = Self.isStandingDeletion(old, local.flags, of: row, before)
        guard !isIgnored || isOnDisk || isStandingDeletion || !Self.isVouchedForByOthers(before) else {
            return try forget(old, of: row, before: before, isIgnored: true, name: nil)
        }
        if isIgnored == local.flags.contains(.ignored) || isStandingDeletion { return }
        let flags =
            isIgnored
            ? local.flags.union(.ignored) : local.flags.subtracting(.ignored).union(.mustRescan)
        try locals.setFlags(flags, of: entry)
        var new = old
        new.file.isInvalid = true
        if !old.file.isInvalid { try announcements.setFlags(of: new.file, by: new.announcer, of: entry) }
        if let sequence = row.own { try own.withdraw(sequence) }
        row.own = own.announce(entry)
        try entries.update(row)
        let after = before.map { $0.announcer == Announcement.thisDevice ? new : $0 }
        try settle(row, added: added, before: before, after: after, isIgnored: isIgnored, name: nil)
    }

    /// Whether `mine` is a deletion that wins and that somebody who announces the name has not taken over: to forget it
    /// would be to take it back, as a device that hears of it from nobody else would bring the name back. It may have been
    /// asked for of a name that is not kept, or the name that is kept is another since a rename.
    private static func isStandingDeletion(
        _ mine: Announcement, _ flags: LocalFlags, of row: EntryRow, _ announcements: [Announcement]
    ) -> Bool {
        guard mine.file.isDeleted, !mine.file.isInvalid, flags.isEmpty,
            let winner = announcements.first(where: { $0.announcer == row.winner }),
            winner.file.version == mine.file.version
        else { return false }
        return row.winner == Announcement.thisDevice
            || announcements.contains {
                $0.announcer != Announcement.thisDevice && !$0.file.isDeleted && !$0.file.isInvalid
            }
    }

    /// Forgets the deletion of an ignored name once everybody who announced the name has taken it over, or it no longer
    /// wins.
    private func forgetHeardDeletion(_ entry: Int64, name: String) throws {
        guard let row = try entries.read(entry), row.winner != nil else { return }
        let announcements = try rows(of: entry)
        guard let mine = announcements.first(where: { $0.announcer == Announcement.thisDevice }),
            mine.file.isDeleted, !mine.file.isInvalid, Self.isVouchedForByOthers(announcements)
        else { return }
        let flags = try locals.read(entry).flags
        guard flags.isEmpty, !Self.isStandingDeletion(mine, flags, of: row, announcements) else { return }
        try forget(mine, of: row, before: announcements, isIgnored: true, name: name)
    }

    /// Says of a name that this device had before it was ignored that it is not here, at the version of `last`. Whoever has
    /// heard that it was, and has not asked since, would believe it for ever if the announcement as ignored were just
    /// withdrawn.
    private func announceAbsence(
        _ row: EntryRow, _ last: FileInfo, added: AggregateSums, before: [Announcement], after: [Announcement],
        isIgnored: Bool, name: String?
    ) throws {
        var row = row
        let file = FileInfo(
            name: "", kind: last.kind, permissions: last.permissions, modifiedSeconds: last.modifiedSeconds,
            modifiedNanoseconds: last.modifiedNanoseconds, isDeleted: last.isDeleted, isInvalid: true,
            hasNoPermissions: last.hasNoPermissions, version: last.version, modifiedBy: last.modifiedBy)
        let content = try announcements.write(file, by: Announcement.thisDevice, of: row.id, replacing: .none)
        try locals.write(LocalEntry(file: file, flags: isIgnored ? .ignored : .mustRescan), of: row.id)
        if let sequence = row.own { try own.withdraw(sequence) }
        row.own = own.announce(row.id)
        try entries.update(row)
        let absence = Announcement(announcer: Announcement.thisDevice, file: file, content: content)
        try settle(row, added: added, before: before, after: after + [absence], isIgnored: isIgnored, name: name)
    }

    /// Whether this device had something of the entry before it was ignored, and has nothing to say of it now.
    private func isOnlyNoted(_ entry: Int64, _ announcements: [Announcement]) throws -> Bool {
        try !announcements.contains { $0.announcer == Announcement.thisDevice } && locals.isNoted(entry)
    }

    // MARK: the end of the transaction

    /// Writes what was gathered.
    func finish(_ database: Database) throws -> ApplyResult {
        try ledger.flush(entries)
        try prune()
        try own.flush()
        if announcer != Announcement.thisDevice, countChange != 0 || byteChange != 0 {
            let update = try RawStatement(
                database, "UPDATE announcer SET entries = entries + ?2, bytes = bytes + ?3 WHERE number = ?1")
            try update.bind(1, announcer)
            try update.bind(2, countChange)
            try update.bind(3, byteChange)
            try update.run()
        }
        let update = try RawStatement(
            database,
            """
            UPDATE folder SET sequence = ?2, localFiles = ?3, localSymlinks = ?4, localDirectories = ?5, localBytes = ?6
            WHERE number = ?1
            """)
        try update.bind(1, folder.number)
        try update.bind(2, own.sequence)
        try update.bind(3, folder.local.files)
        try update.bind(4, folder.local.symlinks)
        try update.bind(5, folder.local.directories)
        try update.bind(6, folder.local.bytes)
        try update.run()
        result.localSequence = own.sequence
        return result
    }

    // MARK: -

    /// Writes what the announcer says of the name at `path`; gives its entry back.
    ///
    /// - Parameter local: what this device will know of its own file, which the caller writes; nil of what others announce.
    private func announce(
        _ file: FileInfo, at path: UnsafeRawBufferPointer, isIgnored: Bool, local: LocalTable.State? = nil
    ) throws -> Int64 {
        var nameStart = path.count
        while nameStart > 0, path[nameStart - 1] != UInt8(ascii: "/") { nameStart -= 1 }
        let directory = UnsafeRawBufferPointer(rebasing: path[..<max(0, nameStart - 1)])
        let name = UnsafeRawBufferPointer(rebasing: path[nameStart...])
        let parent = try directories.entry(of: directory, in: entries)

        let isOwn = announcer == Announcement.thisDevice
        let isAnnounced = isOwn || (isIgnored && !file.isInvalid)
        if refusals.isReader(announcer) {
            if let id = try entries.insert(name, in: parent, winner: nil, own: nil) {
                _ = try announcements.write(file, by: announcer, of: id, replacing: .none)
                countNew(file, path)
                try refusals.set(ReaderRule.alone(file), announcer, id)
                return id
            }
        } else if let id = try entries.insert(name, in: parent, winner: announcer, own: isAnnounced ? own.next : nil) {
            let sequence = isAnnounced ? own.announce(id) : nil
            _ = try announcements.write(file, by: announcer, of: id, replacing: .none)
            countNew(file, path)
            ledger.add(try sums(of: id, file, mine: isOwn ? file : nil, own: sequence, local: local), in: parent)
            noteChange(file.name)
            return id
        }

        guard var row = try entries.find(name, in: parent) else { throw MalformedRow("a name is there and is not") }
        let before = try rows(of: row.id)
        let added = try sums(of: row, before)
        let old = before.first { $0.announcer == announcer }
        if isOwn, let old { try forgetDisk(old, of: row.id) }
        var refusal = Refusal.none
        if refusals.isReader(announcer) {
            // The old one's blocks may go when the new one is written.
            let isSame = try old.map { try blockLists.isSameContent($0, file) } ?? false
            refusal = ReaderRule.first(file, after: old, isSameContent: isSame)
        }
        // Where a reader may announce the same version with other content, what it was is not forgotten with its last holder.
        var file = file
        var keepsContent = false
        if let old, !refusals.isEmpty, file.isInvalid, !file.isDeleted, !old.file.isDeleted, file.kind == .file,
            old.file.kind == .file, old.file.version == file.version, old.content != .none
        {
            keepsContent = true
            (file.size, file.blockSize) = (old.file.size, old.file.blockSize)
        }
        let content = try announcements.write(
            file, by: announcer, of: row.id, replacing: old?.content ?? .none, keepsContent: keepsContent)
        if let old { byteChange += Self.byteCount(file) - Self.byteCount(old.file) } else { countNew(file, path) }
        var after = before.filter { $0.announcer != announcer }
        after.append(Announcement(announcer: announcer, file: file, content: content, refusal: refusal))
        if isOwn {
            if let sequence = row.own { try own.withdraw(sequence) }
            row.own = own.announce(row.id)
            try entries.update(row)
        }
        unannounced.remove(row.id)
        try settle(
            row, added: added, before: before, after: after, isIgnored: isIgnored, name: file.name, local: local)
        if !isOwn, isIgnored, after.contains(where: { $0.announcer == Announcement.thisDevice && $0.file.isDeleted }) {
            try forgetHeardDeletion(row.id, name: file.name)
        }
        return row.id
    }

    private func countNew(_ file: FileInfo, _ path: UnsafeRawBufferPointer) {
        countChange += 1
        // The whole path: the first name in a directory adds the directory's entry.
        byteChange += Int64(path.count) + Self.byteCount(file)
    }

    /// Bytes that an announcement takes beside its name and what has a fixed size.
    private static func byteCount(_ file: FileInfo) -> Int64 {
        // bounded: these arrays are in memory
        Int64(file.version.counters.count * 16 + file.symlinkTarget.count + file.carriedFields.count)
    }

    /// Brings the winner, the aggregates and what this device announces in line with the announcements `after`.
    ///
    /// - Parameters:
    ///   - added: what the entry adds to the directories above it until now.
    ///   - local: as of `announce`; nil for what the table has.
    private func settle(
        _ row: EntryRow, added: AggregateSums, before: [Announcement], after: [Announcement], isIgnored: Bool,
        name: String?, local: LocalTable.State? = nil
    ) throws {
        var row = row
        let old = before.first { $0.announcer == row.winner }?.file
        let candidates = try judged(after, before: before, of: row.id)
        let ranked = candidates.count > 1 ? candidates.sorted(by: precedes) : candidates
        let winner = GlobalVersion.winner(among: ranked.map(\.file)).map { ranked[$0] }
        let new = winner?.file
        if row.own != nil, new?.isInvalid != false, let last = new ?? old, try isOnlyNoted(row.id, after) {
            // Nothing that others say tells any more that this device does not have it.
            return try announceAbsence(
                row, last, added: added, before: before, after: after, isIgnored: isIgnored, name: name)
        }
        let hasChanged = !Self.isSameVersion(old, new)
        if hasChanged { noteChange(name) }

        var own = row.own
        if !after.contains(where: { $0.announcer == Announcement.thisDevice }) {
            // What this device had is announced until it is said that it is not here: see `announceAbsence`.
            let isAnnounced = try new?.isInvalid == false && (isIgnored || own != nil && isOnlyNoted(row.id, after))
            if let sequence = own, !isAnnounced || hasChanged {
                try self.own.withdraw(sequence)
                own = nil
            }
            if isAnnounced, own == nil { own = self.own.announce(row.id) }
        } else if hasChanged, announcer != Announcement.thisDevice, try isIgnoredOnDisk(row.id, after) {
            // What this device announces is the winner's version, and that is another now.
            if let sequence = own { try self.own.withdraw(sequence) }
            own = self.own.announce(row.id)
        }
        if winner?.announcer != row.winner || own != row.own {
            row.winner = winner?.announcer
            row.own = own
            try entries.update(row)
        }
        if let parent = row.parent {
            var change = try sums(of: row, after, local: local)
            change -= added
            ledger.add(change, in: parent)
        }
        if winner == nil, after.isEmpty { unannounced.insert(row.id) }
    }

    /// What an entry adds to the directories above it, by what is announced of it.
    private func sums(
        of row: EntryRow, _ announcements: [Announcement], local: LocalTable.State? = nil
    ) throws -> AggregateSums {
        guard let winner = announcements.first(where: { $0.announcer == row.winner })?.file else { return .zero }
        let mine = announcements.first { $0.announcer == Announcement.thisDevice }?.file
        return try sums(of: row.id, winner, mine: mine, own: row.own, local: local)
    }

    /// - Parameter local: nil for what the table has.
    private func sums(
        of entry: Int64, _ winner: FileInfo, mine: FileInfo?, own: Int64?, local: LocalTable.State?
    ) throws -> AggregateSums {
        try AggregateSums(winner: winner, mine: mine, own: own) { try local ?? locals.read(entry) }
    }

    /// The order in which equal announcements are preferred: by device id, this device last, so that it does not hang
    /// on which device was met first. Devices that only read come behind it: they do not say what a version is.
    private func precedes(_ left: Announcement, _ right: Announcement) -> Bool {
        let isReader = (refusals.isReader(left.announcer), refusals.isReader(right.announcer))
        if isReader.0 != isReader.1 { return isReader.1 }
        guard let leftDevice = devices[left.announcer] else { return false }
        guard let rightDevice = devices[right.announcer] else { return true }
        return leftDevice < rightDevice
    }

    /// What is announced of `entry`, with what is refused of it.
    private func rows(of entry: Int64) throws -> [Announcement] {
        var rows = try announcements.announcements(of: entry)
        guard !refusals.isEmpty else { return rows }
        for index in rows.indices { rows[index].refusal = try refusals.refusal(rows[index].announcer, entry) }
        return rows
    }

    /// Those of `after` that count, and notes what does not.
    private func judged(
        _ after: [Announcement], before: [Announcement], of entry: Int64
    ) throws -> [Announcement] {
        guard !refusals.isEmpty else { return after }
        let verdicts = try ReaderRule.judge(
            after, isReader: { refusals.isReader($0.announcer) },
            isSameContent: { try blockLists.isSameContent($0, $1) })
        for (row, verdict) in zip(after, verdicts) {
            let noted = before.first { $0.announcer == row.announcer }?.refusal ?? .none
            if noted != verdict { try refusals.set(verdict, row.announcer, entry) }
        }
        for row in before where row.refusal != .none && !after.contains(where: { $0.announcer == row.announcer }) {
            try refusals.set(.none, row.announcer, entry)
        }
        return zip(after, verdicts).compactMap { row, verdict in verdict == .none ? row : nil }
    }

    private static func isSameVersion(_ old: FileInfo?, _ new: FileInfo?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.version == new.version && old.isDeleted == new.isDeleted && old.isInvalid == new.isInvalid
            && old.kind == new.kind
    }

    private func noteChange(_ name: String?) {
        result.changedCount += 1
        guard let name, result.changed.count < ApplyResult.changedLimit else { return }
        result.changed.append(name)
    }

    private func find(_ path: UnsafeRawBufferPointer) throws -> EntryRow? {
        var parent = folder.root
        var start = 0
        while true {
            let slash = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.count
            let name = UnsafeRawBufferPointer(rebasing: path[start..<slash])
            guard let row = try entries.find(name, in: parent) else { return nil }
            if slash == path.count { return row }
            parent = row.id
            start = slash + 1
        }
    }

    /// Whether this device has the entry on its disk and does not keep it; only asked of rows that say they are invalid.
    private func isIgnoredOnDisk(_ entry: Int64, _ announcements: [Announcement]) throws -> Bool {
        guard let mine = announcements.first(where: { $0.announcer == Announcement.thisDevice }), mine.file.isInvalid
        else { return false }
        return try locals.read(entry).flags.contains(.ignored)
    }

    /// Takes back `old`, what this device says of `row`.
    private func forget(
        _ old: Announcement, of row: EntryRow, before: [Announcement], isIgnored: Bool, name: String?
    ) throws {
        var row = row
        let added = try sums(of: row, before)
        try forgetDisk(old, of: row.id)
        // That it was here is noted as long as others announce it: see `announceAbsence`.
        try locals.write(LocalEntry(file: old.file, flags: .ignored), of: row.id)
        try announcements.remove(old, of: row.id)
        // What was announced was this device's own row; whatever follows is another announcement.
        if let sequence = row.own { try own.withdraw(sequence) }
        row.own = nil
        try entries.update(row)
        let after = before.filter { $0.announcer != Announcement.thisDevice }
        try settle(row, added: added, before: before, after: after, isIgnored: isIgnored, name: name)
    }

    /// Takes `old`, what this device had of `entry`, out of the totals and the blocks that can be found, if it was on
    /// its disk.
    private func forgetDisk(_ old: Announcement, of entry: Int64) throws {
        guard !old.file.isDeleted, try locals.read(entry).isOnDisk else { return }
        folder.local -= Aggregate(ofDisk: old.file)
        try locals.removeBlocks(try blockLists.blocks(of: old), of: entry)
    }

    /// Deletes the entries that nobody announces and that have nothing below, and the directories that were only there
    /// for them.
    private func prune() throws {
        var candidates = Array(unannounced)
        unannounced.removeAll()
        guard !candidates.isEmpty else { return }
        while let id = candidates.popLast() {
            guard let row = try entries.read(id), let parent = row.parent, row.winner == nil else { continue }
            // A device whose announcement is refused may still have something to say of it.
            guard try !announcements.isAnnounced(id) else { continue }
            try locals.remove(id)
            guard try !entries.hasChildren(id) else { continue }
            try entries.delete(id)
            candidates.append(parent)
        }
    }
}
