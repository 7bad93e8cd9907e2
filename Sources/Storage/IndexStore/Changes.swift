import BlockExchange
import GRDB
import Names

/// Something that happened in a folder, as it is kept for people.
package struct RecordedChange: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case added, changed, deleted, renamed
        /// A conflict left a copy beside the name.
        case conflict
        /// It went from this disk to free space.
        case freed
        /// An archived version was put back.
        case restored
        /// So many names at once that none is kept by itself.
        case many
    }

    /// Counts up within a folder.
    package var number: Int64
    /// When this device heard of it or did it, in seconds since 1970.
    package var time: Int64
    package var kind: Kind
    /// Relative to the folder's root; empty for `many`.
    package var name: String
    /// Of `renamed`: what it was called before.
    package var oldName: String?
    /// Who made the version; nil if that is not said.
    package var device: ShortID?
    /// Names it stands for: one, but for `many`.
    package var count: Int64

    package init(
        number: Int64 = 0, time: Int64, kind: Kind, name: String, oldName: String? = nil, device: ShortID?,
        count: Int64 = 1
    ) {
        self.number = number
        self.time = time
        self.kind = kind
        self.name = name
        self.oldName = oldName
        self.device = device
        self.count = count
    }
}

/// The last changes of each folder, next to the index and as bounded as that is not.
extension IndexStore {
    /// Of each folder so many changes are kept, the newest.
    package static let changeLimit: Int64 = 10_000

    /// Keeps `changes` as the newest of the folder, also in a task that was cancelled; of a folder that is gone meanwhile, none.
    ///
    /// - Throws: `IndexStoreError`.
    package func record(_ changes: [RecordedChange], in folder: FolderID) async throws {
        try await writeRegardless { database in
            guard let row = try Folder.findIfPresent(folder, in: database) else { return }
            let newest = try RawStatement(database, "SELECT max(number) FROM change WHERE folder = ?1")
            try newest.bind(1, row.number)
            var number = try newest.first { try $0.counter(0) } ?? 0
            let insert = try RawStatement(
                database,
                """
                INSERT INTO change (folder, number, time, kind, name, oldName, device, count)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                """)
            for change in changes.suffix(Int(Self.changeLimit)) {
                number += 1
                try insert.bind(1, row.number)
                try insert.bind(2, number)
                try insert.bind(3, change.time)
                try insert.bind(4, change.kind.rawValue)
                try insert.bind(5, change.name)
                if let oldName = change.oldName { try insert.bind(6, oldName) } else { try insert.bind(6, Int64?.none) }
                try insert.bind(7, change.device.map { Int64(bitPattern: $0.rawValue) })
                try insert.bind(8, change.count)
                try insert.run()
            }
            let trim = try RawStatement(database, "DELETE FROM change WHERE folder = ?1 AND number <= ?2")
            try trim.bind(1, row.number)
            try trim.bind(2, number - Self.changeLimit)
            try trim.run()
        }
    }

    /// The newest changes of the folder, oldest first.
    ///
    /// - parameter path: only of this name and what is below it; empty for all.
    /// - parameter after: only those with a higher number.
    /// - parameter since: only those at this time or later, in seconds since 1970.
    /// - parameter isShown: whether changes of a name count.
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func changes(
        in folder: FolderID, below path: String = "", after number: Int64 = 0, since time: Int64 = .min, limit: Int,
        isShown: @escaping @Sendable (String) -> Bool = { _ in true }
    ) async throws -> [RecordedChange] {
        try await read { database in
            let row = try Folder.find(folder, in: database)
            let select = try RawStatement(
                database,
                """
                SELECT number, time, kind, name, oldName, device, count FROM change
                WHERE folder = ?1 AND number > ?2 ORDER BY number DESC
                """)
            try select.bind(1, row.number)
            try select.bind(2, number)
            defer { select.reset() }
            func isMeant(_ name: String?) -> Bool { name?.isAtOrBelow(path) ?? false }
            var changes: [RecordedChange] = []
            while changes.count < limit, try select.step() {
                guard let kind = RecordedChange.Kind(rawValue: select.text(2)) else { continue }
                let change = RecordedChange(
                    number: select.integer(0), time: select.integer(1), kind: kind, name: select.text(3),
                    oldName: select.isNull(4) ? nil : select.text(4),
                    device: select.optionalInteger(5).map { ShortID(rawValue: UInt64(bitPattern: $0)) },
                    count: select.integer(6))
                guard change.time >= time, isMeant(change.name) || isMeant(change.oldName), isShown(change.name) else {
                    continue
                }
                changes.append(change)
            }
            return changes.reversed()
        }
    }
}
