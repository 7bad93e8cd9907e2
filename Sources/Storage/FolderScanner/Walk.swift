import BlockExchange
import FileAccess
import Selection

/// One scan: goes down the tree, directory by directory, and reports to a queue what differs from the index.
///
/// Every directory is reached from the handle of the one it is in. At a time it holds one list of names for each level.
final class Walk {
    /// A directory on the way down to where the walk is.
    private struct Ancestor {
        /// What is to be reported of it when something in it is met that is kept.
        var finding: Finding?
        /// Whether something in it was met, or it is kept whatever is in it.
        var isKept: Bool
    }

    /// Names looked at in one go; more would be held in memory without being faster.
    private static let chunkCount = 1024

    private let root: RootDirectory
    private let selection: Selection
    private let index: any KnownEntries
    private let options: ScanOptions
    private let disk: BlockingThreads
    private let queue: FindingQueue
    private let cancellation: Cancellation
    private var ancestors: [Ancestor] = []

    init(
        root: RootDirectory, selection: Selection, index: any KnownEntries, options: ScanOptions,
        disk: BlockingThreads, queue: FindingQueue, cancellation: Cancellation
    ) {
        self.root = root
        self.selection = selection
        self.index = index
        self.options = options
        self.disk = disk
        self.queue = queue
        self.cancellation = cancellation
    }

    /// Walks what `branches` lead to, or everything if that is nil.
    func run(_ branches: [Branch]?) async throws {
        let root = root
        try await visitContents(of: "", branches) { () throws(FileAccessError) in try root.directory(nil) }
    }

    // MARK: on the disk

    private func visitContents(
        of path: String, _ branches: [Branch]?,
        opening open: @escaping @Sendable () throws(FileAccessError) -> Directory
    ) async throws {
        try Task.checkCancellation()
        let known = try await knownChildren(of: path, branches)
        let (names, selection, attributes) = (branches?.map(\.name), selection, options.attributes)
        // The first names come with the opening: most directories are done with one change of threads.
        let opened = try await disk.run { () -> Result<(DirectoryReader, [Encounter]), FileAccessError> in
            Result { () throws(FileAccessError) in
                var reader = try DirectoryReader(
                    open(), path: path, known: known, only: names, selection: selection, attributes: attributes)
                let encounters = reader.next(Self.chunkCount)
                return (reader, encounters)
            }
        }
        var reader: DirectoryReader
        var encounters: [Encounter]
        do throws(FileAccessError) {
            (reader, encounters) = try opened.get()
        } catch {
            return try await reportUnreadable(path, error)
        }
        queue.countDirectory()
        while true {
            for encounter in encounters { try await visit(encounter, in: reader.directory, branches) }
            guard encounters.count == Self.chunkCount else { break }
            (reader, encounters) = try await disk.run { [reader] in
                var reader = reader
                let encounters = reader.next(Self.chunkCount)
                return (reader, encounters)
            }
        }
        for name in reader.missing {
            guard let branch = branches?.branch(named: name[...]) else { continue }
            try await reportLost(branch, in: path)
        }
    }

    /// Nothing is at the branch, and it is known as gone; what is known below it may have gone later than itself, unseen.
    private func reportLost(_ branch: Branch, in path: String) async throws {
        if let known = try await index.children(of: path, named: [branch.name]).first {
            guard let below = branch.below else { return try await reportMissing(known) }
            return try await forEachKnown(below, in: known.name) { try await self.reportMissing($0) }
        }
        let lost = path.appendingComponent(branch.name)
        if let below = branch.below {
            for branch in below { try await reportLost(branch, in: lost) }
        } else {
            for known in try await index.children(of: lost) { try await reportMissing(known) }
        }
    }

    private func knownChildren(of path: String, _ branches: [Branch]?) async throws -> [KnownEntry] {
        guard let branches else { return try await index.children(of: path) }
        return try await index.children(of: path, named: branches.map(\.name))
    }

    private func reportUnreadable(_ path: String, _ error: FileAccessError) async throws {
        if path.isEmpty { throw ScanError(.rootUnreadable, path: root.path, cause: error) }
        switch error.code {
        // Something else is there than was listed a moment ago.
        case .notFound, .notADirectory, .outsideRoot:
            try await report(.problem(FileProblem(.changedWhileRead, name: path, cause: error)))
        default: try await report(.problem(FileProblem(.unreadableDirectory, name: path, cause: error)))
        }
    }

    private func visit(_ encounter: Encounter, in directory: Directory, _ branches: [Branch]?) async throws {
        if let branches {
            let name = encounter.path.lastComponent
            guard let branch = branches.branch(named: name) else { return }
            if let below = branch.below { return try await visitWay(encounter, in: directory, to: below) }
        }
        let path = encounter.path
        let known = encounter.known
        switch encounter.sight {
        case .file(let status, let entry):
            try await keep(known, isDirectory: false)
            try await compare(file: status, entry, in: directory, path, known, encounter.attributes)
        case .symlink(let status, let target):
            try await keep(known, isDirectory: false)
            let comparison = Comparison(symlink: status, target: target, with: known)
            try await report(finding(path, .symlink(target), status, known, comparison))
        case .directory(let status, let entry, let isOpened):
            try await keep(known, isDirectory: true)
            let comparison = Comparison(
                directory: status, with: known, ignoringPermissions: ignoresPermissions(at: path),
                attributes: encounter.attributes)
            try await report(finding(path, .directory, status, known, comparison, encounter.attributes))
            if isOpened {
                ancestors.append(Ancestor(finding: nil, isKept: true))
                try await visitContents(of: path, nil) { () throws(FileAccessError) in try directory.directory(entry) }
                ancestors.removeLast()
            } else if let known, known.isDirectory {
                try await reportUnkept(below: known)
            }
        case .leftOut(let type, let entry, let isOpened):
            try await visitLeftOut(path, type, entry, isOpened, in: directory, known)
        case .absent:
            if let known { try await reportMissing(known) }
        case .unsupported(let problem):
            try await keep(known, isDirectory: false)
            try await report(.problem(problem))
        case .temporary: try await report(.temporary(path))
        case .unknown(let problem):
            try await announceAncestors()
            try await report(.problem(problem))
        }
    }

    /// Something kept is at a name: what was known to be below it is not there, if it is no directory.
    private func keep(_ known: KnownEntry?, isDirectory: Bool) async throws {
        queue.countEntry(isDirectory: isDirectory)
        try await announceAncestors()
        guard !isDirectory, let known, known.isDirectory else { return }
        try await reportMissing(below: known)
    }

    private func ignoresPermissions(at path: String) -> Bool { options.ignoresPermissions(at: path, in: root) }

    private func compare(
        file status: FileStatus, _ entry: DirectoryEntry, in directory: Directory, _ path: String,
        _ known: KnownEntry?, _ attributes: FileAttributes?
    ) async throws {
        let comparison = Comparison(
            file: status, with: known, ignoringPermissions: ignoresPermissions(at: path), attributes: attributes)
        switch comparison {
        case .same: return
        case .status, .metadata:
            guard let known else { return }
            try await report(comparison == .metadata ? .metadata(known, status, attributes) : .status(known, status))
        case .unknown(let canCompare):
            let isKnownFile = known?.status.type == .regular
            let reading = FileReading(
                name: path, entry: entry, in: directory, status: status,
                previousBlockSize: isKnownFile ? known?.blockSize ?? 0 : 0, attributes: options.attributes,
                now: options.now, cancellation: cancellation)
            try await queue.append(reading, known: known, canCompare: canCompare)
        }
    }

    /// What a comparison of something without contents to be read comes to; nil if nothing differs.
    private func finding(
        _ path: String, _ contents: ScannedEntry.Contents, _ status: FileStatus, _ known: KnownEntry?,
        _ comparison: Comparison, _ attributes: FileAttributes? = nil
    ) -> Finding? {
        switch comparison {
        case .same: nil
        case .status: known.map { .status($0, status) }
        case .metadata: known.map { .metadata($0, status, attributes) }
        case .unknown:
            .changed(
                ScannedEntry(name: path, contents: contents, status: status, known: known, attributes: attributes))
        }
    }

    private func visitLeftOut(
        _ path: String, _ type: FileType, _ entry: DirectoryEntry, _ isOpened: Bool, in directory: Directory,
        _ known: KnownEntry?
    ) async throws {
        let isKnownDirectory = known?.isDirectory ?? false
        guard type == .directory else {
            if let known, isKnownDirectory { try await reportMissing(below: known) }
            if let known { try await reportUnkept(known, known.status.type == type ? .onDisk : .absent) }
            return
        }
        if let known, !isKnownDirectory { try await reportUnkept(known, .absent) }
        guard isOpened else {
            guard let known, isKnownDirectory, !known.isIgnored else { return }
            try await reportUnkept(below: known)
            return try await reportUnkept(known, .onDisk)
        }
        // Kept after all if a line with wildcards includes something in it; only its contents can tell.
        let finding = try await directoryFinding(path, entry, in: directory, known)
        ancestors.append(Ancestor(finding: finding, isKept: false))
        try await visitContents(of: path, nil) { () throws(FileAccessError) in try directory.directory(entry) }
        let isKept = ancestors.removeLast().isKept
        if let known, isKnownDirectory, !isKept { try await reportUnkept(known, .onDisk) }
    }

    /// What is to be reported of a directory whose status nobody has asked for yet.
    private func directoryFinding(
        _ path: String, _ entry: DirectoryEntry, in directory: Directory, _ known: KnownEntry?
    ) async throws -> Finding? {
        let status = try await disk.run {
            Result { () throws(FileAccessError) in try directory.status(of: entry) }
        }
        // If it cannot be looked at, opening it says so.
        guard case .success(let status?) = status, status.type == .directory else { return nil }
        let comparison = Comparison(directory: status, with: known, ignoringPermissions: ignoresPermissions(at: path))
        return finding(path, .directory, status, known, comparison)
    }

    // MARK: on the way to what a scan is restricted to

    /// Goes through a directory that was not asked for to what is below. It is reported only if it is new to the index
    /// and something kept is found below, which must not be announced without it.
    private func visitWay(_ encounter: Encounter, in directory: Directory, to below: [Branch]) async throws {
        let path = encounter.path
        switch encounter.sight {
        case .directory(let status, let entry, isOpened: true):
            let comparison = Comparison(
                directory: status, with: encounter.known, ignoringPermissions: ignoresPermissions(at: path))
            try await visitWay(
                path, entry, in: directory, to: below,
                finding(path, .directory, status, encounter.known, comparison, encounter.attributes))
        case .leftOut(.directory, let entry, isOpened: true):
            try await visitWay(
                path, entry, in: directory, to: below,
                directoryFinding(path, entry, in: directory, encounter.known))
        case .directory, .leftOut(.directory, _, _):
            try await forEachKnown(below, in: path) { known in
                guard !known.isIgnored else { return }
                if known.isDirectory { try await self.reportUnkept(below: known) }
                try await self.reportUnkept(known, .notLookedAt)
            }
        case .file, .symlink, .leftOut, .absent, .unsupported, .temporary:
            try await forEachKnown(below, in: path) { try await self.reportMissing($0) }
        case .unknown(let problem): try await report(.problem(problem))
        }
    }

    private func visitWay(
        _ path: String, _ entry: DirectoryEntry, in directory: Directory, to below: [Branch], _ finding: Finding?
    ) async throws {
        var new: Finding?
        if case .changed = finding { new = finding }
        ancestors.append(Ancestor(finding: new, isKept: false))
        try await visitContents(of: path, below) { () throws(FileAccessError) in try directory.directory(entry) }
        ancestors.removeLast()
    }

    /// What is known of the ends of `branches`, nothing of which is on the disk or was looked at.
    private func forEachKnown(
        _ branches: [Branch], in path: String, _ body: (KnownEntry) async throws -> Void
    ) async throws {
        for branch in branches {
            if let below = branch.below {
                try await forEachKnown(below, in: path.appendingComponent(branch.name), body)
            }
        }
        let ends = branches.filter { $0.below == nil }.map(\.name)
        guard !ends.isEmpty else { return }
        for known in try await index.children(of: path, named: ends) { try await body(known) }
    }

    // MARK: reporting

    /// What is kept must not be announced without the directories that it is in.
    private func announceAncestors() async throws {
        for position in ancestors.indices where !ancestors[position].isKept {
            ancestors[position].isKept = true
            if let finding = ancestors[position].finding { try await queue.append(finding) }
        }
    }

    private func report(_ finding: Finding?) async throws {
        if let finding { try await queue.append(finding) }
    }

    /// Something known is not on the disk, and so nothing below it is.
    private func reportMissing(_ known: KnownEntry) async throws {
        if known.isDirectory { try await reportMissing(below: known) }
        // What was ignored may be removed by its owner at any time: that is no deletion, even if it is selected now.
        let isKept =
            !known.isIgnored && selection.standing(of: known.name, isDirectory: known.isDirectory) == .kept
        try await report(isKept ? .gone(known) : .unkept(known, .absent))
    }

    private func reportMissing(below directory: KnownEntry) async throws {
        for known in try await index.children(of: directory.name) { try await reportMissing(known) }
    }

    private func reportUnkept(_ known: KnownEntry, _ presence: Presence) async throws {
        // Known to be ignored and still there: that is nothing new.
        if known.isIgnored, presence != .absent { return }
        try await report(.unkept(known, presence))
    }

    /// Nothing below a directory is selected, and so it was not opened. A directory that is marked already had
    /// everything below it marked before.
    private func reportUnkept(below directory: KnownEntry) async throws {
        for known in try await index.children(of: directory.name) where !known.isIgnored {
            if known.isDirectory { try await reportUnkept(below: known) }
            try await reportUnkept(known, .notLookedAt)
        }
    }
}
