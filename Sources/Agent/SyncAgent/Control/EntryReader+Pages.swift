import BlockExchange
import ControlAPI
import FileAccess
import FolderSync
import IndexStore
import Names
import Reconciliation
import Selection

/// A directory in parts, in an order.
extension EntryReader {
    /// A page of what is in a directory; of what is none, itself.
    ///
    /// - Parameter directory: relative to the folder's root.
    func page(
        of directory: String, _ query: EntryQuery, _ cache: ListingCache,
        now: @Sendable () -> MonotonicTime
    ) async throws -> EntryPage {
        let found = try await index.global(folder.id, directory)
        if found?.isDirectory != true || !directory.isEmpty && found?.below == .zero && found?.isPresent == false {
            var entry = try await stat(directory)
            entry.details = nil
            if entry.kind != .directory {
                return EntryPage(entries: query.offset == 0 ? [entry] : [], offset: query.offset, total: 1)
            }
        }
        let key = ListingCache.Key(
            folder: folder.id, directory: directory, sort: query.sort, isDescending: query.isDescending,
            filter: query.filter)
        let stamp = ListingCache.Stamp(
            index: try await index.listingStamp(of: folder.id), disk: try await directoryStatus(directory),
            selection: place?.sources)
        let order: DirectoryOrder
        // Whether what was fetched there is still that, no stamp of the directory tells.
        var hasFetched = false
        if query.filter == .extraneous {
            let below = directory.isEmpty ? nil : directory
            hasFetched = try await !index.fetched(in: folder.id, below: below, limit: 1).isEmpty
        }
        if !hasFetched, let kept = cache.order(key, stamp, now: now()) {
            order = kept
        } else {
            let begun = now()
            order = try await makeOrder(of: directory, query, isOnDisk: stamp.disk != nil)
            if !hasFetched { cache.keep(order, key, stamp, made: now(), cost: now() - begun) }
        }
        var offset = query.offset
        if let beginning = query.beginning {
            guard let found = try await place(of: NameBeginning(beginning), in: order, of: directory, from: offset)
            else { return EntryPage(entries: [], offset: offset, total: order.names.count) }
            offset = found
        }
        let part = Array(order.names.dropFirst(offset).prefix(query.limit))
        return EntryPage(
            entries: try await entries(part, of: order, in: directory, isOnDisk: stamp.disk != nil),
            offset: offset, total: order.names.count)
    }

    /// The first name with this beginning at or after `start`, or else before it; nil if there is none.
    private func place(
        of beginning: NameBeginning, in order: DirectoryOrder, of directory: String, from start: Int
    ) async throws -> Int? {
        let ids = try await index.foldListing(of: folder.id, in: directory, into: Set<Int64>()) { ids, row in
            if beginning.begins(row.name) { ids.insert(row.id) }
        }
        func begins(_ id: Int64) -> Bool {
            order.localName(id).map { beginning.begins($0.utf8) } ?? ids.contains(id)
        }
        let start = min(start, order.names.count)
        return order.names[start...].firstIndex(where: begins) ?? order.names[..<start].firstIndex(where: begins)
    }

    /// Of a directory on this disk; nil if it is not here.
    private func directoryStatus(_ directory: String) async throws -> FileAccess.FileStatus? {
        guard let place else { return nil }
        let path = RelativePath(directory)
        guard directory.isEmpty || path != nil else { return nil }
        return try await threads.runIfActive { try path.map { try place.root.status(of: $0) } ?? place.root.status() }
    }

    // MARK: the order

    /// A directory with more names is ordered by their bytes: to fold and compare them takes seconds and much memory.
    private static let naturalLimit = 100_000

    /// What is gathered while the index is walked.
    private struct Gathered: Sendable {
        struct Row: Sendable {
            var id: Int64
            var key: Int64
            var isDirectory: Bool
        }

        var rows: [Row] = []
        /// Of the rows; only where the order needs them, or names of the disk have to be put between them.
        var names: [String] = []
        /// What of the disk the index has not named yet.
        var disk: [NameKey: FileType]
    }

    private func makeOrder(of directory: String, _ query: EntryQuery, isOnDisk: Bool) async throws -> DirectoryOrder {
        let prefix = directory.isEmpty ? "" : directory + "/"
        var names = isOnDisk ? try await namesOnDisk(in: RelativePath(directory), orNil: false) : [:]
        // What was fetched there on purpose is not extraneous.
        if query.filter == .extraneous { for name in try await downloaded(names, prefix) { names[name] = nil } }
        let disk = names
        let (filter, sort, hasDisk, isRoot) = (query.filter, query.sort, !disk.isEmpty, directory.isEmpty)
        let hiddenName = Array(InternalContent.directory.utf8)
        let selection = place?.selection
        let gathered = try await index.foldListing(of: folder.id, in: directory, into: Gathered(disk: disk)) {
            gathered, row in
            if isRoot, row.name.elementsEqual(hiddenName) { return }
            var type: FileType?
            if hasDisk || filter != .all {
                let name = String(decoding: row.name, as: UTF8.self)
                type = hasDisk ? gathered.disk.removeValue(forKey: NameKey(name)) : nil
                let isWanted = Self.isWanted(
                    filter, path: prefix + name, name: name, type: type, isDirectory: row.isDirectory, selection)
                guard isWanted else { return }
            }
            if hasDisk || sort == .natural && gathered.rows.count < Self.naturalLimit {
                gathered.names.append(String(decoding: row.name, as: UTF8.self))
            }
            let key =
                switch sort {
                case .name, .natural: Int64(0)
                case .size: row.size
                case .modified: row.modified ?? .min
                }
            gathered.rows.append(.init(id: row.id, key: key, isDirectory: row.isDirectory))
        }
        var order = DirectoryOrder()
        let local = try await localRows(gathered.disk, prefix: prefix, query)
        order.local = local.map(\.name)
        var (rows, listed) = (gathered.rows, gathered.names)
        if !local.isEmpty {
            // By name both are in order: merged they are, too.
            (rows, listed) = ([], [])
            rows.reserveCapacity(gathered.rows.count + local.count)
            listed.reserveCapacity(gathered.rows.count + local.count)
            var next = 0
            for (position, entry) in local.enumerated() {
                let end =
                    gathered.names[next...].firstIndex { !$0.utf8.lexicographicallyPrecedes(entry.name.utf8) }
                    ?? gathered.names.count
                rows += gathered.rows[next..<end]
                listed += gathered.names[next..<end]
                rows.append(.init(id: -Int64(position) - 1, key: entry.key, isDirectory: entry.isDirectory))
                listed.append(entry.name)
                next = end
            }
            rows += gathered.rows[next...]
            listed += gathered.names[next...]
        }
        switch sort {
        case .natural where rows.count <= Self.naturalLimit:
            let places = NaturalOrder.places(
                of: zip(listed, rows).map { ($0, $1.isDirectory) }, isDescending: query.isDescending)
            order.names = places.map { rows[$0].id }
            return order
        case .name, .natural: order.names = rows.map(\.id)
        case .size, .modified:
            let keys = rows.enumerated().sorted {
                ($0.element.key, $0.offset) < ($1.element.key, $1.offset)
            }
            order.names = keys.map(\.element.id)
        }
        if query.isDescending { order.names.reverse() }
        return order
    }

    /// The names that only this disk has, by their bytes, with what they are sorted by.
    private func localRows(
        _ names: [NameKey: FileType], prefix: String, _ query: EntryQuery
    ) async throws -> [(name: String, key: Int64, isDirectory: Bool)] {
        guard let place, !names.isEmpty else { return [] }
        let selection = place.selection
        let wanted = names.map { ($0.key.text, $0.value) }.filter { name, type in
            guard type != .other, let path = RelativePath(prefix + name), !path.isTemporary, !path.isInternal,
                path.text != InternalContent.directory
            else { return false }
            return Self.isWanted(
                query.filter, path: prefix + name, name: name, type: type, isDirectory: false, selection)
        }
        let sort = query.sort
        let rows = try await threads.runIfActive {
            try wanted.map { name, type -> (name: String, key: Int64, isDirectory: Bool) in
                let isDirectory = type == .directory
                guard sort == .size || sort == .modified, let path = RelativePath(prefix + name),
                    let status = try place.root.status(of: path)
                else { return (name, 0, isDirectory) }
                let key = sort == .size ? (status.type == .regular ? status.size : 0) : status.modified.seconds
                return (name, key, isDirectory)
            }
        }
        return rows.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// - Parameters:
    ///   - type: what is on this disk under the name; nil for nothing.
    ///   - isDirectory: whether the index has a directory of this name.
    private static func isWanted(
        _ filter: EntryQuery.Filter, path: String, name: String, type: FileType?, isDirectory: Bool,
        _ selection: Selection?
    ) -> Bool {
        switch filter {
        case .all: true
        case .here: type != nil
        case .selected:
            selection.map { $0.selectedState(of: path) != .no || $0.isParentOfSelected(path) } ?? false
        case .conflicts: type != nil && ConflictName.isCopy(name)
        case .extraneous:
            type != nil && !(isDirectory && type == .directory) && !ConflictName.isCopy(name)
                && selection?.selectedState(of: path) == .no
        case .directories: isDirectory || type == .directory
        }
    }

    // MARK: the entries

    private func entries(
        _ part: [Int64], of order: DirectoryOrder, in directory: String, isOnDisk: Bool
    ) async throws -> [Entry] {
        let prefix = directory.isEmpty ? "" : directory + "/"
        let found = try await index.entries(folder.id, of: directory, ids: part.filter { $0 >= 0 })
        let local = part.compactMap { order.localName($0) }
        let names = isOnDisk ? try await types(found.compactMap { $0.map { String($0.name) } } + local, prefix) : [:]
        var entries: [Entry] = []
        var next = found.makeIterator()
        for id in part {
            if let name = order.localName(id) {
                if let entry = try await localEntry(prefix + name, names) { entries.append(entry) }
            } else if let entry = next.next() ?? nil {
                entries.append(try await self.entry(entry, names))
            }
        }
        return entries
    }

    /// What is on this disk under these names, and of files that are fetched under their temporary ones.
    func types(_ names: [String], _ prefix: String) async throws -> [NameKey: FileType] {
        guard let place else { return [:] }
        return try await threads.runIfActive {
            var types: [NameKey: FileType] = [:]
            for name in names {
                for candidate in [name, RelativePath.temporaryName(for: name)] {
                    guard let path = RelativePath(prefix + candidate), let status = try place.root.status(of: path),
                        try place.root.twin(of: path) == nil
                    else { continue }
                    types[candidate] = status.type
                    break
                }
            }
            return types
        }
    }
}
