import GRDB

/// Goes through the entries below a directory, by name in each directory: it holds no open statement between two steps,
/// and as much memory as the tree is deep.
struct TreeWalk {
    enum Order {
        /// Each directory before what is in it.
        case directoriesFirst
        /// The other way round, from the last entry to the first.
        case deepestFirst

        var children: ChildReader.Order { self == .directoriesFirst ? .forwards : .backwards }
    }

    struct Step {
        var id: Int64
        var path: String
    }

    private struct Level {
        var children: ChildReader
        /// Bytes of `path` that name the directory.
        var pathLength: Int
    }

    private let readChildren: RawStatement
    private let order: Order
    /// The directories on the way to the entry visited last, the one that the walk began at first.
    private var levels: [Level] = []
    /// The path of the entry visited last.
    private var path: [UInt8] = []
    /// The entry whose children come next.
    private var current: Int64?

    /// - parameter below: a path without a slash at its end; empty for the root.
    /// - parameter after: where to go on: the path of an entry visited before; it need not exist any more.
    init(
        _ database: Database, folder: Folder, below: String, after: String?, order: Order = .directoriesFirst
    ) throws {
        self.order = order
        readChildren = try ChildReader.statement(database, order.children)
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
            levels.append(
                Level(children: ChildReader(of: directory, after: Array(component)), pathLength: path.count))
            appendToPath(component)
            current = try component.withUnsafeBytes { try entries.find($0, in: directory)?.id }
        }
        // What is below it came before it.
        if order == .deepestFirst { current = nil }
    }

    /// The next entry; nil at the end.
    mutating func next() throws -> Step? {
        try enter()
        while !levels.isEmpty {
            let level = levels.count - 1
            path.removeLast(path.count - levels[level].pathLength)
            if let child = try levels[level].children.next(readChildren, order.children) {
                appendToPath(child.name)
                current = child.id
                if order == .directoriesFirst { return step(child.id) }
                try enter()
            } else {
                let directory = levels.removeLast().children.directory
                if order == .deepestFirst, !levels.isEmpty { return step(directory) }
            }
        }
        return nil
    }

    /// Leaves out what lies below the entry visited last; of no effect where that has been visited before.
    mutating func skipBelow() { current = nil }

    private mutating func enter() throws {
        guard let directory = current else { return }
        try EntryDepth.check(levels.count)
        levels.append(Level(children: ChildReader(of: directory), pathLength: path.count))
        current = nil
    }

    private mutating func appendToPath(_ name: ArraySlice<UInt8>) {
        if !path.isEmpty { path.append(UInt8(ascii: "/")) }
        path += name
    }

    private func step(_ id: Int64) -> Step { Step(id: id, path: String(decoding: path, as: UTF8.self)) }

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
