import GRDB
import Glibc

/// Goes through the entries below a directory, depth first and by name in each directory, one row at a time: it holds
/// no open statement between two steps, and as much memory as the tree is deep.
struct TreeWalk {
    struct Step {
        var id: Int64
        var path: String
        var winner: Int64?
    }

    private struct Level {
        var directory: Int64
        /// Bytes of `path` that name the directory.
        var pathLength: Int
        /// The last child that was visited; empty before the first.
        var name: [UInt8]
    }

    private let nextChild: RawStatement
    private var levels: [Level] = []
    /// The path of the last entry visited.
    private var path: [UInt8] = []
    /// The entry visited last, whose children come next.
    private var current: Int64?

    /// - parameter below: a path without a slash at its end; empty for the root.
    /// - parameter after: where to go on: the path of an entry visited before; it need not exist any more.
    init(_ database: Database, folder: Folder, below: String, after: String?) throws {
        nextChild = try RawStatement(
            database,
            "SELECT id, name, winner FROM entry WHERE parent = ?1 AND name > ?2 ORDER BY name LIMIT 1")
        let entries = try EntryTable(database, folder: folder)
        path = Array(below.utf8)
        guard let start = try Self.entry(of: path, below: folder.root, in: entries) else { return }
        current = start
        guard let after else { return }
        var rest = Array(after.utf8)[...]
        if !path.isEmpty {
            guard rest.starts(with: path), rest.dropFirst(path.count).first == UInt8(ascii: "/") else { return }
            rest = rest.dropFirst(path.count + 1)
        }
        for component in rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let directory = current else { return }
            levels.append(Level(directory: directory, pathLength: path.count, name: Array(component)))
            if !path.isEmpty { path.append(UInt8(ascii: "/")) }
            path += component
            current = try component.withUnsafeBytes { try entries.find($0, in: directory)?.id }
        }
    }

    /// The next entry; nil at the end.
    mutating func next() throws -> Step? {
        if let directory = current {
            levels.append(Level(directory: directory, pathLength: path.count, name: []))
            current = nil
        }
        while let level = levels.last {
            let found = try level.name.withUnsafeBytes { name in
                try nextChild.bind(1, level.directory)
                try nextChild.bind(2, borrowedText: name)
                return try nextChild.first { row in
                    (id: row.integer(0), name: Array(row.bytes(1)), winner: row.optionalInteger(2))
                }
            }
            path.removeLast(path.count - level.pathLength)
            guard let found else {
                levels.removeLast()
                continue
            }
            levels[levels.count - 1].name = found.name
            if !path.isEmpty { path.append(UInt8(ascii: "/")) }
            path += found.name
            current = found.id
            return Step(id: found.id, path: String(decoding: path, as: UTF8.self), winner: found.winner)
        }
        return nil
    }

    /// Leaves out what lies below the entry visited last.
    mutating func skipBelow() { current = nil }

    private static func entry(of path: [UInt8], below root: Int64, in entries: EntryTable) throws -> Int64? {
        if path.isEmpty { return root }
        var current = root
        for component in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let row = try component.withUnsafeBytes({ try entries.find($0, in: current) }) else { return nil }
            current = row.id
        }
        return current
    }
}
