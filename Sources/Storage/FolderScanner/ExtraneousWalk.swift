import FileAccess
import Selection

/// Something that lies in the folder on this disk and is not kept.
package struct ExtraneousEntry: Hashable, Sendable {
    /// Relative to the folder, `/` between components.
    package let name: String
    /// A file, link or directory, never `.other`.
    package let status: FileStatus
}

package struct ExtraneousBatch: Hashable, Sendable {
    package let entries: [ExtraneousEntry]
    /// Directories that could not be listed, and what could not be looked at.
    package let problems: [FileProblem]
}

/// Goes through all of a folder for what is not kept in it.
final class ExtraneousWalk {
    private struct Sight: Sendable {
        enum What: Sendable {
            case kept
            case leftOut(FileStatus)
            case problem(FileProblem)
        }
        let path: String
        let entry: DirectoryEntry
        let what: What
    }

    private static let chunkCount = 1024

    private let root: RootDirectory
    private let selection: Selection
    private let disk: BlockingThreads
    private let limit: Int
    private let opens: @Sendable (String) -> Bool
    private let deliver: @Sendable (ExtraneousBatch) async throws -> Void
    private var entries: [ExtraneousEntry] = []
    private var problems: [FileProblem] = []

    init(
        root: RootDirectory, selection: Selection, disk: BlockingThreads, limit: Int,
        opens: @escaping @Sendable (String) -> Bool,
        _ deliver: @escaping @Sendable (ExtraneousBatch) async throws -> Void
    ) {
        self.root = root
        self.selection = selection
        self.disk = disk
        self.limit = limit
        self.opens = opens
        self.deliver = deliver
    }

    func run() async throws {
        // Where everything is kept there is nothing to look for.
        guard selection.mayContainLeftOut("") else { return }
        let root = root
        _ = try await visitContents(of: "") { () throws(FileAccessError) in try root.directory(nil) }
        try await flush()
    }

    /// Gives whether something in the directory is kept, or may be because it could not be looked at.
    private func visitContents(
        of path: String, opening open: @escaping @Sendable () throws(FileAccessError) -> Directory
    ) async throws -> Bool {
        try Task.checkCancellation()
        let listed = try await disk.run { () -> Result<(Directory, [DirectoryEntry]), FileAccessError> in
            Result { () throws(FileAccessError) in
                let directory = try open()
                return (directory, try directory.list().sortedByBytes())
            }
        }
        let directory: Directory
        let names: [DirectoryEntry]
        do throws(FileAccessError) {
            (directory, names) = try listed.get()
        } catch {
            guard !path.isEmpty else { throw ScanError(.rootUnreadable, path: root.path, cause: error) }
            try await add(FileProblem(.unreadableDirectory, name: path, cause: error))
            return true
        }
        var holdsKept = false
        var next = 0
        while next < names.count {
            let chunk = names[next..<min(next + Self.chunkCount, names.count)]
            next = chunk.endIndex
            let selection = selection
            let sights = try await disk.run { chunk.compactMap { Self.look(at: $0, in: directory, path, selection) } }
            for sight in sights {
                if try await visit(sight, in: directory) { holdsKept = true }
            }
        }
        return holdsKept
    }

    private static func look(
        at entry: DirectoryEntry, in directory: Directory, _ parent: String, _ selection: Selection
    ) -> Sight? {
        let path = parent.appendingComponent(entry.displayName)
        let isDirectory = entry.type == .directory
        let standing = selection.standing(of: path, isDirectory: isDirectory)
        guard standing != .ours, entry.type != .other, FileProblem(nameOf: entry, path: path) == nil else { return nil }
        if standing == .kept { return Sight(path: path, entry: entry, what: .kept) }
        do throws(FileAccessError) {
            guard let status = try directory.status(of: entry), status.type == entry.type else { return nil }
            return Sight(path: path, entry: entry, what: .leftOut(status))
        } catch {
            return Sight(path: path, entry: entry, what: .problem(FileProblem(.unreadable, name: path, cause: error)))
        }
    }

    /// Gives whether it, or something in it, is kept.
    private func visit(_ sight: Sight, in directory: Directory) async throws -> Bool {
        var isKept = false
        if sight.entry.type == .directory, selection.mayContainLeftOut(sight.path), opens(sight.path) {
            isKept = try await visitContents(of: sight.path) { () throws(FileAccessError) in
                try directory.directory(sight.entry)
            }
        }
        switch sight.what {
        case .kept: return true
        case .problem(let problem):
            try await add(problem)
            return true
        case .leftOut(let status):
            guard !isKept else { return true }
            entries.append(ExtraneousEntry(name: sight.path, status: status))
            try await flushIfFull()
            return false
        }
    }

    private func add(_ problem: FileProblem) async throws {
        problems.append(problem)
        try await flushIfFull()
    }

    private func flushIfFull() async throws {
        if entries.count + problems.count >= limit { try await flush() }
    }

    private func flush() async throws {
        guard !entries.isEmpty || !problems.isEmpty else { return }
        let batch = ExtraneousBatch(entries: entries, problems: problems)
        entries = []
        problems = []
        try await deliver(batch)
    }
}
