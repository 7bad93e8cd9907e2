import BlockExchange
import GRDB

/// A version that a device announces which may only read, and that is no candidate for the global version.
package struct RefusedVersion: Equatable, Sendable {
    /// What the device announces, without blocks but with the hash over theirs.
    package var file: FileInfo
    package var device: DeviceID
    /// What counts in its place.
    package var facts: NameFacts

    package init(file: FileInfo, device: DeviceID, facts: NameFacts) {
        self.file = file
        self.device = device
        self.facts = facts
    }
}

/// Refused versions, and where the next part begins.
package struct RefusedPage: Equatable, Sendable {
    package struct Cursor: Equatable, Sendable {
        var announcer: Int64
        var entry: Int64
    }

    /// Device by device, names in no order.
    package var versions: [RefusedVersion]
    /// Nil if this is the last page.
    package var next: Cursor?
}

/// Devices whose changes do not count.
extension IndexStore {
    /// Entries let in, in one transaction.
    private static let releaseLimit = 2000

    /// Says which devices may only read in `folder` and which may write; of others nothing changes.
    ///
    /// What a device announced before it becomes a reader goes on to count. What was refused of one that is none any more
    /// counts from then on: that goes in several transactions, and what a cancellation or the end of the process leaves is
    /// done by the next call.
    ///
    /// - parameter isIgnored: whether this device does not select a name.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    @discardableResult
    package func setReaders(
        of folder: FolderID, to readers: Set<DeviceID>, writers: Set<DeviceID>,
        isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> ApplyResult {
        defer { unnumberedChanges.add() }
        let released: [Int64] = try await write { database in
            let row = try Folder.find(folder, in: database)
            let update = try RawStatement(database, "UPDATE announcer SET role = ?2 WHERE number = ?1")
            for reader in readers { _ = try Announcer.ensure(reader, in: row, database) }
            let roles = try Announcer.roles(of: row.number, database)
            var released: [Int64] = []
            for (number, device) in try Announcer.all(of: row.number, database) {
                let role: AnnouncerRole =
                    if readers.contains(device) {
                        .reader
                    } else if let role = roles[number], !writers.contains(device) {
                        role
                    } else {
                        roles[number] == nil ? .writer : .released
                    }
                if role == .released { released.append(number) }
                guard role != roles[number] ?? .writer else { continue }
                try update.bind(1, number)
                try update.bind(2, role.rawValue)
                try update.run()
            }
            return released.sorted()
        }
        var total = ApplyResult()
        for announcer in released {
            while let result = try await release(announcer, of: folder, isIgnored) {
                total.applied += result.applied
                total.changedCount += result.changedCount
                total.localSequence = result.localSequence
            }
        }
        return total
    }

    /// Lets in the next of what was refused of an announcer; nil when nothing is left, and then it may write.
    private func release(
        _ announcer: Int64, of folder: FolderID, _ isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> ApplyResult? {
        try await write { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database, "SELECT entry FROM refused WHERE announcer = ?1 LIMIT \(Self.releaseLimit)")
            try select.bind(1, announcer)
            var entries: [Int64] = []
            while try select.step() { entries.append(select.integer(0)) }
            guard !entries.isEmpty else {
                let update = try RawStatement(database, "UPDATE announcer SET role = 0 WHERE number = ?1")
                try update.bind(1, announcer)
                try update.run()
                return nil
            }
            let reader = try IndexReader(database, folder: row)
            let writer = try FolderWriter(database, folder: row, announcer: announcer)
            var known: [Int64: [UInt8]] = [:]
            for entry in entries {
                guard let path = try reader.path(of: entry, known: &known) else { throw MalformedRow("no entry") }
                _ = try writer.admit(entry, version: nil, isIgnored: isIgnored(path), name: path)
            }
            return try writer.finish(database)
        }
    }

    /// The next of what is refused and makes a difference.
    ///
    /// - parameter after: `next` of the page before, nil for the first.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func refused(
        in folder: FolderID, after: RefusedPage.Cursor? = nil, limit: Int
    ) async throws -> RefusedPage {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let devices = try Announcer.all(of: row.number, database)
            let reader = try IndexReader(database, folder: row)
            let need = try NeedReader(database, reader)
            let select = try RawStatement(
                database,
                "SELECT entry FROM refused WHERE announcer = ?1 AND isOpen = 1 AND entry > ?2 ORDER BY entry LIMIT ?3")
            var page = RefusedPage(versions: [], next: nil)
            var known: [Int64: [UInt8]] = [:]
            let announcers = try Announcer.roles(of: row.number, database).keys.sorted()
            for announcer in announcers where announcer >= after?.announcer ?? 0 {
                try select.bind(1, announcer)
                try select.bind(2, announcer == after?.announcer ? after?.entry ?? 0 : 0)
                try select.bind(3, Int64(limit - page.versions.count))
                var entries: [Int64] = []
                while try select.step() { entries.append(select.integer(0)) }
                for entry in entries {
                    guard let path = try reader.path(of: entry, known: &known), let device = devices[announcer],
                        let said = try reader.announcements(of: entry).first(where: { $0.announcer == announcer })
                    else { throw MalformedRow("what is refused is not there") }
                    var file = said.file
                    file.name = path
                    file.blocksHash = try reader.blocksHash(of: said)
                    page.versions.append(
                        RefusedVersion(file: file, device: device, facts: try need.facts(of: entry, path: path)))
                    page.next = RefusedPage.Cursor(announcer: announcer, entry: entry)
                }
                if page.versions.count >= limit { return page }
            }
            page.next = nil
            return page
        }
    }

    /// How many versions are refused and make a difference, counted up to `limit`; and of which devices.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func refusedCount(in folder: FolderID, limit: Int) async throws -> (count: Int, devices: [DeviceID]) {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let roles = try Announcer.roles(of: row.number, database)
            guard !roles.isEmpty else { return (0, []) }
            let devices = try Announcer.all(of: row.number, database)
            let select = try RawStatement(
                database,
                """
                SELECT count(*) FROM (SELECT 1 FROM refused WHERE announcer = ?1 AND isOpen = 1 LIMIT ?2)
                """)
            var total = 0
            var found: [DeviceID] = []
            for announcer in roles.keys.sorted() {
                try select.bind(1, announcer)
                try select.bind(2, Int64(limit - total))
                let count = Int(clamping: try select.first { $0.integer(0) } ?? 0)
                if count > 0, let device = devices[announcer] { found.append(device) }
                total += count
            }
            return (total, found.sorted())
        }
    }

    /// Lets these versions count, each if its device still announces it and it is still refused; another change of the name
    /// is refused again. All in one transaction.
    ///
    /// - parameter isIgnored: whether this device does not select a name.
    /// - Returns: the names of those that count now, and what changed by it.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func accept(
        _ versions: [RefusedVersion], in folder: FolderID, isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> (names: [String], result: ApplyResult) {
        defer { unnumberedChanges.add() }
        return try await write { database in
            let row = try Folder.find(folder, in: database)
            let reader = try IndexReader(database, folder: row)
            var names: [String] = []
            var total = ApplyResult()
            for (device, versions) in Dictionary(grouping: versions, by: \.device).sorted(by: { $0.key < $1.key }) {
                guard let announcer = try Announcer.find(device, in: row, database) else { continue }
                let writer = try FolderWriter(
                    database, folder: try Folder.find(folder, in: database), announcer: announcer.number)
                for version in versions {
                    let name = version.file.name
                    guard let entry = try reader.find(name),
                        try writer.admit(
                            entry.id, version: version.file.version, isIgnored: isIgnored(name), name: name)
                    else { continue }
                    names.append(name)
                }
                let result = try writer.finish(database)
                total.changedCount += result.changedCount
                total.changed = Array((total.changed + result.changed).prefix(ApplyResult.changedLimit))
                total.localSequence = result.localSequence
            }
            return (names, total)
        }
    }
}
