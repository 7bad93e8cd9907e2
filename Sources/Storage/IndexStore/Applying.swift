import BlockExchange
import GRDB
import Names

/// How the index takes in what others and this device say.
extension IndexStore {
    /// Takes entries that `device` announced in `folder`, all in one transaction; of a name that comes twice the last
    /// stays.
    ///
    /// - parameter files: validated by the caller: canonical names, blocks that span the file.
    /// - parameter replacesAll: for BEP's Index, which stands for all the device announces: what it said before is
    ///   dropped first, in transactions of its own. Calls about one device in one folder must not overlap.
    /// - parameter isIgnored: whether this device does not select a name; such names are announced as ignored.
    /// - Throws: beside the usual, `diskAlmostFull`, `tooManyEntries` and `tooManyEntryBytes` where `quota` forbids it; nothing is stored then.
    @discardableResult
    package func applyIndex(
        of folder: FolderID, device: DeviceID, files: [FileInfo], replacesAll: Bool,
        isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> ApplyResult {
        if !files.isEmpty { try requireSpaceForOthers() }
        let replacedID = replacesAll ? try await dropAnnouncements(of: device, in: folder) : nil
        return try await write { database in
            let row = try Folder.find(folder, in: database)
            var announcer = try Announcer.ensure(device, in: row, database)
            // A batch more or less: counting which of the names are new would cost as much as storing them.
            guard announcer.entries < quota.entries else {
                throw OverQuota(device: device, limit: .names(quota.entries))
            }
            guard announcer.bytes < quota.bytes else { throw OverQuota(device: device, limit: .bytes(quota.bytes)) }
            let writer = try FolderWriter(database, folder: row, announcer: announcer.number)
            // By position: to iterate would copy each entry.
            for position in files.indices {
                try writer.announce(files[position], isIgnored: isIgnored(files[position].name))
                announcer.maxSequence = max(announcer.maxSequence, files[position].sequence)
            }
            if let replacedID { announcer.indexID = replacedID }
            try announcer.save(database)
            var result = try writer.finish(database)
            result.remoteSequence = announcer.maxSequence
            return result
        }
    }

    /// Takes changes of what this device has in `folder`, all in one transaction, in the order given. Every entry set
    /// is announced under a new sequence.
    ///
    /// - parameter isIgnored: whether this device does not select a name; asked for what is forgotten.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    @discardableResult
    package func applyLocal(
        in folder: FolderID, _ changes: [LocalChange], isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> ApplyResult {
        try await write { database in
            try Self.apply(changes, try Folder.find(folder, in: database), database, isIgnored)
        }
    }

    static func apply(
        _ changes: [LocalChange], _ folder: Folder, _ database: Database, _ isIgnored: (String) -> Bool
    ) throws -> ApplyResult {
        let writer = try FolderWriter(database, folder: folder, announcer: Announcement.thisDevice)
        for change in changes {
            switch change {
            case .set(let entry): try writer.set(entry)
            case .note(let name, let status): try writer.note(name, status)
            case .forget(let name): try writer.forget(name, isIgnored: isIgnored(name))
            }
        }
        return try writer.finish(database)
    }

    /// Entries looked at in one transaction of `reselect`.
    private static let reselectLimit = 5000

    /// Brings what this device announces in line with a changed selection: names that it has nothing of are announced
    /// as ignored, or no longer. What is on disk and ignored now is flagged `.ignored`, and announced as invalid with the
    /// winner's version; what is kept again is flagged `.mustRescan` in its stead and stays invalid until it is set
    /// again. What this device had to say of ignored names that are not on its disk is forgotten.
    ///
    /// Goes on in several transactions; after a cancellation the rest still stands as before, and calling it again does
    /// it.
    ///
    /// - parameter place: where the selection changed: this name, all below it, and the directories above it; empty for
    ///   the whole folder, which at 1,000,000 names takes seconds.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`. What was done before
    ///   stays done.
    @discardableResult
    package func reselect(
        _ folder: FolderID, at place: String = "", isIgnored: @escaping @Sendable (String) -> Bool
    ) async throws -> ApplyResult {
        var total = try await write { database in
            let row = try Folder.find(folder, in: database)
            let writer = try FolderWriter(database, folder: row, announcer: Announcement.thisDevice)
            let reader = try IndexReader(database, folder: row)
            var path = ""
            for component in place.pathComponents {
                path += path.isEmpty ? component : "/" + component
                guard let found = try reader.find(path), found.id != row.root else { break }
                try writer.reselect(found.id, isIgnored: isIgnored(path))
            }
            return try writer.finish(database)
        }
        var after: String?
        repeat {
            let cursor = after
            let (last, result) = try await write { database in
                let row = try Folder.find(folder, in: database)
                var walk = try TreeWalk(database, folder: row, below: place, after: cursor)
                let writer = try FolderWriter(database, folder: row, announcer: Announcement.thisDevice)
                var last: String?
                var count = 0
                while count < Self.reselectLimit, let entry = try walk.next() {
                    try writer.reselect(entry.id, isIgnored: isIgnored(entry.path))
                    last = entry.path
                    count += 1
                }
                return (last, try writer.finish(database))
            }
            after = last
            total.applied += result.applied
            total.localSequence = result.localSequence
        } while after != nil
        return total
    }
}
