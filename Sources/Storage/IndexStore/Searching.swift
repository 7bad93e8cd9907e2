import BlockExchange
import GRDB

/// Finding names.
extension IndexStore {
    /// From this many entries on two processors search.
    private static let parallelSearchFloor: Int64 = 50_000
    private static let conflictTag = ".sync-conflict-"
    /// Conflict copies that are counted and listed.
    private static let conflictCopyLimit = 10_000

    /// Entries whose name contains all words of `text`, in any order, or whose path contains `text` if there is a `/` in it; neither
    /// case nor accents count. Reads all names, deleted ones included, until `limit` are found; only what `children` would list is. With a filter no more than
    /// `NameFilter.lookLimit` of the names with the text are looked at.
    ///
    /// A large index is read in two halves at the same time, each as it is at its own moment.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown `folder`); `CancellationError`.
    package func search(
        _ text: String, in folder: FolderID? = nil, filter: NameFilter = NameFilter(), limit: Int = 1000
    ) async throws -> SearchResult {
        try await search(text, in: folder, filter: filter, limit: limit, halvedFrom: Self.parallelSearchFloor)
    }

    /// Files on this disk, of those that the index knows, that are called as conflict copies are: at most 10,000. Reads all names, as
    /// `search` does, unless nothing was written since the last time.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown `folder`); `CancellationError`.
    package func conflictCopies(in folder: FolderID) async throws -> [String] {
        try await conflictCopies.names(of: folder) {
            try await search(Self.conflictTag, in: folder, limit: Self.conflictCopyLimit).entries
                .filter { $0.local?.status != nil && !$0.isDirectory }.map(\.path)
        }
    }

    /// - Parameters:
    ///   - looks: how many names are looked at beyond their text, in each half.
    ///   - floor: from how many entries on the index is read in halves.
    func search(
        _ text: String, in folder: FolderID?, filter: NameFilter = NameFilter(), limit: Int,
        looks: Int = NameFilter.lookLimit, halvedFrom floor: Int64
    ) async throws -> SearchResult {
        let last =
            try await read { database in
                try RawStatement(database, "SELECT max(id) FROM entry").first { $0.optionalInteger(0) } ?? nil
            } ?? 0
        guard last >= floor else {
            return try await search(
                text, in: folder, filter: filter, limit: limit, looks: looks, directories: 0...Int64.max)
        }
        // Directories have the ids of entries, and what is in them comes soon after them: half of the ids is about half
        // of the names.
        let middle = last / 2
        async let first = search(
            text, in: folder, filter: filter, limit: limit, looks: looks, directories: 0...middle)
        async let second = search(
            text, in: folder, filter: filter, limit: limit, looks: looks, directories: middle + 1...Int64.max)
        var (result, rest) = try await (first, second)
        result.isTruncated = result.isTruncated || rest.isTruncated || result.entries.count + rest.entries.count > limit
        result.isIncomplete = result.isIncomplete || rest.isIncomplete
        result.entries += rest.entries.prefix(limit - result.entries.count)
        result.entries.sort(by: NameSearch.precedes)
        return result
    }

    /// The same for the names in those directories.
    private func search(
        _ text: String, in folder: FolderID?, filter: NameFilter, limit: Int, looks: Int,
        directories: ClosedRange<Int64>
    ) async throws -> SearchResult {
        try await read { database in
            let folders = try Folder.all(in: database)
            if let folder, !folders.contains(where: { $0.id == folder }) { throw UnknownFolder(folder: folder) }
            let search = try NameSearch(database, folders: folders, text: text, filter: filter)
            return try search.run(database, only: folder, limit: limit, looks: looks, directories: directories)
        }
    }
}

/// One search: goes through all names in the order of the index by directory, so that what is to be known of a
/// directory is found once for all that is in it.
private final class NameSearch {
    /// What must be known of a directory to decide about what is in it.
    private struct Directory {
        /// The index of its folder in `readers`; nil for one that hangs in no folder.
        var folder: Int?
        /// Whether its path, with a slash at the end, contains the text: then so does all below it.
        var contains = false
        /// The end of its path with a slash, folded, one byte shorter than the text; empty for a root.
        var tail: [UInt8] = []
        /// Whether that ends with the text up to its last slash, so that what begins with the rest of it matches.
        var endsWithHead = false
    }

    private let matcher: SubstringMatcher
    /// A name has to match all of them; unused where the path is compared.
    private let words: [SubstringMatcher]
    private let isByPath: Bool
    /// The text, folded, up to and with its last slash, and what comes after it.
    private let head: ArraySlice<UInt8>
    private let lastPart: ArraySlice<UInt8>
    private let readers: [IndexReader]
    private let readEntry: RawStatement
    /// Nil for no filter.
    private let filter: NameFilter?
    private let filterReader: FilterReader
    private var directories: [Int64: Directory] = [:]
    private var paths: [Int64: [UInt8]] = [:]

    /// So many directories are remembered; beyond, they are looked up again.
    private static let memoryLimit = 50_000

    init(_ database: Database, folders: [Folder], text: String, filter: NameFilter) throws {
        self.filter = filter.isEmpty ? nil : filter
        filterReader = try FilterReader(database, filter)
        matcher = SubstringMatcher(text)
        let parts = text.split(whereSeparator: \.isWhitespace)
        words = parts.isEmpty ? [matcher] : parts.map { SubstringMatcher(String($0)) }
        let lastSlash = matcher.needle.lastIndex(of: UInt8(ascii: "/"))
        isByPath = lastSlash != nil
        let headEnd = lastSlash.map { $0 + 1 } ?? 0
        head = matcher.needle[..<headEnd]
        lastPart = matcher.needle[headEnd...]
        readers = try folders.map { try IndexReader(database, folder: $0) }
        readEntry = try RawStatement(database, "SELECT parent, name FROM entry WHERE id = ?1")
    }

    func run(
        _ database: Database, only folder: FolderID?, limit: Int, looks: Int, directories: ClosedRange<Int64>
    ) throws -> SearchResult {
        let wanted = folder.flatMap { folder in readers.firstIndex { $0.folder.id == folder } }
        // Only where it decides is a directory looked up before a name matches.
        let mustKnowDirectory = isByPath || (wanted != nil && readers.count > 1)
        let select = try RawStatement(
            database,
            """
            SELECT parent, name, id FROM entry INDEXED BY entryByName
            WHERE parent BETWEEN ?1 AND ?2 ORDER BY parent, name
            """)
        try select.bind(1, directories.lowerBound)
        try select.bind(2, directories.upperBound)
        defer { select.reset() }
        var result = SearchResult(entries: [], isTruncated: false)
        var looksLeft = looks
        var parent: Int64?
        var directory = Directory()
        while try select.step() {
            let name = select.bytes(1)
            if mustKnowDirectory {
                let current = select.integer(0)
                if current != parent {
                    directory = try self.directory(current)
                    parent = current
                }
                if let wanted, directory.folder != wanted { continue }
                guard matches(name, in: directory) else { continue }
            } else {
                guard hasWords(name) else { continue }
                if filter != nil, !filterReader.matches(name) { continue }
                directory = try self.directory(select.integer(0))
            }
            if filter != nil {
                guard filterReader.matches(name) else { continue }
                guard looksLeft > 0 else {
                    result.isIncomplete = true
                    break
                }
                looksLeft -= 1
                guard try filterReader.mayMatch(select.integer(2)) else { continue }
            }
            guard let reader = directory.folder.map({ readers[$0] }),
                let entry = try entry(select.integer(2), reader), filter?.matches(entry) ?? true
            else { continue }
            if result.entries.count == limit {
                result.isTruncated = true
                break
            }
            result.entries.append(entry)
        }
        result.entries.sort(by: Self.precedes)
        return result
    }

    static func precedes(_ left: GlobalEntry, _ right: GlobalEntry) -> Bool {
        left.folder == right.folder
            ? left.path.utf8.lexicographicallyPrecedes(right.path.utf8) : left.folder < right.folder
    }

    private func matches(_ name: UnsafeRawBufferPointer, in directory: Directory) -> Bool {
        if !isByPath { return hasWords(name) }
        if directory.contains { return true }
        return directory.endsWithHead && matcher.folded(name).starts(with: lastPart)
    }

    private func hasWords(_ name: UnsafeRawBufferPointer) -> Bool { words.allSatisfy { $0.matches(name) } }

    private func entry(_ id: Int64, _ reader: IndexReader) throws -> GlobalEntry? {
        if paths.count > Self.memoryLimit { paths.removeAll() }
        guard let path = try reader.path(of: id, known: &paths) else { return nil }
        let facts = try reader.winnerAndOwn(of: id)
        let entry = try reader.entry(id, winner: facts.winner, own: facts.own, path: path)
        return IndexReader.isListed(entry) ? entry : nil
    }

    /// What is to be known of the directory `id`, from the nearest one above that is remembered.
    private func directory(_ id: Int64) throws -> Directory {
        if let known = directories[id] { return known }
        if directories.count > Self.memoryLimit { directories.removeAll() }
        var way: [(id: Int64, name: [UInt8])] = []
        var current = id
        var directory = Directory()
        while true {
            if let known = directories[current] {
                directory = known
                break
            }
            try readEntry.bind(1, current)
            let row = try readEntry.first { (parent: $0.optionalInteger(0), name: Array($0.bytes(1))) }
            guard let row else { throw MalformedRow("no entry \(current)") }
            guard let parent = row.parent else {
                directory.folder = readers.firstIndex { $0.folder.root == current }
                break
            }
            way.append((current, row.name))
            try EntryDepth.check(way.count)
            current = parent
        }
        for (id, name) in way.reversed() {
            if isByPath, !directory.contains {
                let path = directory.tail + name.withUnsafeBytes { matcher.folded($0) } + [UInt8(ascii: "/")]
                directory.contains = path.withUnsafeBytes { matcher.contains($0) }
                directory.tail = Array(path.suffix(max(0, matcher.needle.count - 1)))
                // A text that ends with its slash is longer than the tail; `contains` has found it.
                directory.endsWithHead = directory.tail.suffix(head.count) == head
            }
            directories[id] = directory
        }
        return directory
    }
}
