import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Removes what is not selected from this disk, so far as other devices have the very same. The ignore line is written, and
/// the index is in line with it, before: whatever stops it leaves extraneous files, and no deletion to be announced.
struct SpaceFreeing {
    private let folder: FolderContext
    /// What the folder selects, or would select if this is a dry run.
    private let selection: Selection
    private let isForced: Bool
    private let isDryRun: Bool
    private(set) var outcome = FreeingOutcome()
    /// All files that stay and are the folder's; `outcome` has the first of them.
    private(set) var stayed: [(name: String, reason: Freeing.Reason)] = []
    /// What is to follow, for the step that frees.
    private(set) var work: FolderWork

    init(folder: FolderContext, selection: Selection, isForced: Bool, isDryRun: Bool, work: FolderWork) {
        self.folder = folder
        self.selection = selection
        self.isForced = isForced
        self.isDryRun = isDryRun
        self.work = work
    }

    /// Frees what is at and below each of `paths` and is not selected, and directories above them that only were there for
    /// them. None of the paths lies below another.
    mutating func free(_ paths: [String]) async throws {
        for path in paths {
            var cursor: String?
            repeat {
                let page = try await folder.index.store.localDescendants(
                    of: folder.id, below: path, after: cursor, limit: FolderIndex.pageLimit, deepestFirst: true)
                try await free(named: page.entries.map(\.path))
                cursor = page.next
            } while cursor != nil
            try await freeBareDirectories(below: path)
            try await free(named: [path])
        }
        try await freeParents(of: paths)
        outcome.freed.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        outcome.staying.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        outcome.givenUp.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        guard !isDryRun else { return }
        work.effects.counts.extraneous = try await folder.countExtraneous()
    }

    // MARK: names

    /// One name that is on this disk.
    private struct Candidate: Sendable {
        let path: RelativePath
        let status: FileAccess.FileStatus
        let isEmptyDirectory: Bool

        var name: String { path.text }
        var isDirectory: Bool { status.type == .directory }
        var size: Int64 { status.type == .regular ? status.size : 0 }
    }

    /// What was done about one name.
    private enum Deed: Sendable {
        case freed
        case givenUp(Freeing.Reason)
        case stays(Freeing.Reason, Phrase?)
        /// A directory that still holds something.
        case holds([(path: String, size: Int64)])

        static func staying(_ error: FileAccessError) -> Deed {
            switch error.code {
            case .busy: .stays(.inUse, nil)
            case .changedOnDisk, .isADirectory, .notARegularFile: .stays(.changedHere, nil)
            default: .stays(.failed, error.text)
            }
        }
    }

    private mutating func free(named names: [String]) async throws {
        let names = names.filter { selection.isLeftOut($0) }
        guard !names.isEmpty else { return }
        let facts = try await folder.index.facts(names)
        let known = Set(names)
        let candidates = try await candidates(facts)
        var changes: [LocalChange] = []
        do {
            for candidate in candidates {
                try Task.checkCancellation()
                let deed = try await deal(with: candidate)
                note(deed, candidate, known: known)
                switch deed {
                case .freed, .givenUp: if !isDryRun { changes.append(.forget(candidate.name)) }
                case .stays(.failed, _) where await isGone(candidate): changes.append(.forget(candidate.name))
                case .stays(let reason, _): if !candidate.isDirectory { stayed.append((candidate.name, reason)) }
                case .holds: break
                }
            }
            guard !changes.isEmpty else { return }
            let root = folder.root
            try await folder.onDisk { try root.synchronizeFileSystem() }
        } catch {
            // Directories have not been forgotten yet. What a loss of power brings back is extraneous.
            try await forget(changes)
            throw error
        }
        try await forget(changes)
    }

    /// Whether nothing has the name, as far as the disk can tell.
    private func isGone(_ candidate: Candidate) async -> Bool {
        let root = folder.root
        do {
            return try await folder.onDisk { try root.status(of: candidate.path) == nil }
        } catch {
            return false
        }
    }

    private mutating func forget(_ changes: [LocalChange]) async throws {
        guard !changes.isEmpty else { return }
        try await folder.index.apply(changes, &work)
        work.log(.freed, changes.map(\.name), folder.index)
    }

    private func candidates(_ facts: [NameFacts]) async throws -> [Candidate] {
        let root = folder.root
        return try await folder.onDisk {
            try facts.compactMap { facts -> Candidate? in
                guard let path = RelativePath(facts.name), let status = try root.status(of: path) else { return nil }
                return Candidate(
                    path: path, status: status,
                    isEmptyDirectory: try status.type == .directory && root.list(path).isEmpty)
            }
        }
    }

    static func sight(_ status: FileAccess.FileStatus, _ local: LocalEntry?) -> Freeing.Sight {
        guard let expected = local.flatMap({ FileAccess.FileStatus($0) }), status.isUnchanged(since: expected) else {
            return .changed
        }
        return expected.type == .regular && expected.changed == nil ? .unsettled : .unchanged
    }

    /// Judges by what is known at this moment, and acts on it before any device can take its promise back.
    private mutating func deal(with candidate: Candidate) async throws -> Deed {
        try await folder.peers.keepTurn.withUnits(1) {
            let counting = try await folder.copyCounting(isPlan: isDryRun)
            guard let facts = try await folder.index.facts(candidate.name) else { return .stays(.unknown, nil) }
            let rows = try await folder.index.store.keepRows(in: folder.id, names: [candidate.name])
            let copies = counting.copies(facts, rows.first ?? [])
            var reason = Freeing.reason(
                against: facts.localVersion, global: facts.global, copies: copies,
                minimumCopies: folder.settings.minimumCopies, sight: Self.sight(candidate.status, facts.local))
            if candidate.isEmptyDirectory, facts.isBareDirectory { reason = nil }
            return try await deal(with: candidate, reason, copies)
        }
    }

    private mutating func deal(
        with candidate: Candidate, _ reason: Freeing.Reason?, _ copies: Copies
    ) async throws -> Deed {
        if candidate.isDirectory { return try await dealWithDirectory(candidate, reason, copies) }
        if let reason, !(isForced && reason.isForceable) { return .stays(reason, message(reason, copies)) }
        // Before anything is forgotten of it: what stays is what it was.
        do {
            if try await isBeingWritten(candidate) { return .stays(.inUse, nil) }
        } catch let error as FileAccessError {
            return .staying(error)
        }
        // With its blocks: what stays after all is what it was.
        let local = isDryRun ? nil : try await folder.index.store.local(folder.id, candidate.name)
        // Before it goes: an index that still has what has gone would take another file at the name for the one that others keep.
        // A death in between leaves an extraneous file.
        if !isDryRun { try await folder.index.apply([.forget(candidate.name)], &work) }
        do {
            try await remove(candidate, purpose: reason == nil ? .freeing : .givingUp)
        } catch let error as FileAccessError {
            if let local, await !isGone(candidate) { try await folder.index.apply([.set(local)], &work) }
            return .staying(error)
        }
        return reason.map { .givenUp($0) } ?? .freed
    }

    private func remove(_ candidate: Candidate, purpose: RemovalPurpose) async throws {
        guard !isDryRun else { return }
        let archive = folder.archive
        try await folder.onDisk {
            _ = try archive.removeUserFile(candidate.path, expecting: candidate.status, purpose: purpose)
        }
    }

    private func isBeingWritten(_ candidate: Candidate) async throws -> Bool {
        guard candidate.status.type == .regular else { return false }
        let root = folder.archive.root
        return try await folder.onDisk { try root.isBeingWritten(candidate.path) }
    }

    // MARK: directories

    /// A directory goes when nothing is left in it; only what no file needs makes way for that.
    private func dealWithDirectory(
        _ candidate: Candidate, _ reason: Freeing.Reason?, _ copies: Copies
    ) async throws -> Deed {
        // What is in it was counted by itself.
        guard !isDryRun else { return .holds(try await strangers(in: candidate.path)) }
        // A directory that others have deleted and that is empty here is of use to nobody.
        if let reason, reason != .deletedElsewhere, !(isForced && reason.isForceable) {
            return candidate.isEmptyDirectory
                ? .stays(reason, message(reason, copies)) : .holds(try await strangers(in: candidate.path))
        }
        let root = folder.root
        do {
            try await folder.onDisk {
                for entry in try root.list(candidate.path) {
                    guard let name = entry.name, let path = try? candidate.path.appending(name), path.isTemporary,
                        !path.isSwap
                    else { continue }
                    _ = try root.removeTemporary(path)
                }
                _ = try root.removeDirectory(candidate.path, durability: .deferred)
            }
            return .freed
        } catch let error as FileAccessError {
            guard error.code == .directoryNotEmpty else { return .stays(.failed, error.text) }
            return .holds(try await strangers(in: candidate.path))
        }
    }

    /// Directories below `path` that were made for what was fetched into them.
    private mutating func freeBareDirectories(below path: String) async throws {
        guard !isDryRun else { return }
        let root = folder.root
        let directories = try await folder.unselectedDirectories(at: path, by: selection).filter { $0.text != path }
        var bare: [RelativePath] = []
        for start in stride(from: 0, to: directories.count, by: FolderIndex.pageLimit) {
            let page = directories[start..<min(start + FolderIndex.pageLimit, directories.count)]
            let facts = try await folder.index.facts(page.map(\.text))
            bare += zip(page, facts).filter { $1.isBareDirectory }.map { $0.0 }
        }
        // Those in which the last ones were are empty the next time.
        while !bare.isEmpty {
            let all = bare
            let empty = try await folder.onDisk { try all.filter { try root.list($0).isEmpty } }
            guard !empty.isEmpty else { return }
            try await free(named: empty.map(\.text))
            bare.removeAll(where: Set(empty).contains)
        }
    }

    /// What lies in a directory and is nothing to the index.
    private func strangers(in directory: RelativePath) async throws -> [(path: String, size: Int64)] {
        let known = try await folder.index.store.localChildren(of: folder.id, directory: directory.text)
        let names = Set(known.map(\.file.name))
        let (root, selection) = (folder.root, selection)
        return try await folder.onDisk {
            try root.list(directory).compactMap { entry in
                guard let name = entry.name, let path = try? directory.appending(name), !path.isTemporary,
                    !names.contains(path.text), selection.isLeftOut(path.text), let status = try root.status(of: path)
                else { return nil }
                return (path.text, status.type == .regular ? status.size : 0)
            }.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        }
    }

    /// Directories above what was freed that are not kept any more either.
    private mutating func freeParents(of paths: [String]) async throws {
        guard !isDryRun else { return }
        var parents: Set<RelativePath> = []
        for path in paths {
            var parent = RelativePath(path)?.parent
            while let directory = parent {
                guard selection.isLeftOut(directory.text) else { break }
                parents.insert(directory)
                parent = directory.parent
            }
        }
        // What is in a directory comes before it: its name is longer.
        for directory in parents.sorted(by: { ($1.text.utf8.count, $0.text) < ($0.text.utf8.count, $1.text) }) {
            let root = folder.root
            let isEmpty = try await folder.onDisk {
                try root.status(of: directory)?.type == .directory && root.list(directory).isEmpty
            }
            if isEmpty { try await free(named: [directory.text]) }
        }
    }

    // MARK: -

    private mutating func note(_ deed: Deed, _ candidate: Candidate, known: Set<String>) {
        switch deed {
        case .freed where candidate.isDirectory: outcome.freedDirectories += 1
        case .freed: outcome.noteFreed(candidate.name, size: candidate.size)
        case .givenUp(let reason): outcome.noteGivenUp(name(candidate.name, candidate.size, reason, nil))
        case .stays(let reason, let message): noteStaying(candidate.name, candidate.size, reason, message)
        case .holds(let strangers):
            for stranger in strangers { noteStaying(stranger.path, stranger.size, .unknown, nil) }
        }
    }

    private mutating func noteStaying(_ path: String, _ size: Int64, _ reason: Freeing.Reason, _ message: Phrase?) {
        outcome.noteStaying(name(path, size, reason, message))
    }

    private func name(_ path: String, _ size: Int64, _ reason: Freeing.Reason, _ message: Phrase?) -> StayingName {
        StayingName(
            path: path, size: size, reason: reason.rawValue,
            message: message ?? reason.message(minimumCopies: folder.settings.minimumCopies))
    }

    /// Names the devices that a reason is about; nil where the usual words do.
    private func message(_ reason: Freeing.Reason, _ copies: Copies) -> Phrase? {
        let devices: [DeviceID]
        switch reason {
        case .uncertainCopies: devices = copies.uncertain
        case .failedCopies: devices = copies.failed
        case .promised: devices = copies.promisedTo
        default: return nil
        }
        let names = devices.map(folder.tools.name)
        return reason.message(
            minimumCopies: folder.settings.minimumCopies,
            holders: names.isEmpty ? nil : names.joined(separator: ", "))
    }
}

extension NameFacts {
    /// Whether others have it as a directory, and the index does not have it on this disk: nothing but its name is there.
    fileprivate var isBareDirectory: Bool {
        guard let global, global.kind == .directory, !global.isDeleted, !global.isInvalid else { return false }
        return local?.status == nil
    }
}

extension FolderContext {
    /// The directories at and below `path` on this disk that are not selected, each after what is in it. Those that cannot be
    /// read are taken for empty.
    func unselectedDirectories(at path: String, by selection: Selection) async throws -> [RelativePath] {
        guard let start = RelativePath(path) else { return [] }
        let root = root
        return try await onDisk {
            var (found, waiting) = ([RelativePath](), [start])
            while let next = waiting.popLast() {
                guard !next.isInternal, selection.isLeftOut(next.text), try root.status(of: next)?.type == .directory
                else { continue }
                found.append(next)
                for entry in (try? root.list(next)) ?? [] where entry.type == .directory || entry.type == .other {
                    if let name = entry.name, let item = try? next.appending(name) { waiting.append(item) }
                }
            }
            return found.reversed()
        }
    }
}

extension Freeing.Reason {
    /// A sentence for people that ends with what to do.
    ///
    /// - parameter holders: names of the devices that a reason is about; nil if they are not known.
    package func message(minimumCopies: Int, holders: String? = nil) -> Phrase {
        switch self {
        case .noOtherCopy:
            Phrase("no other device has this version; keep it selected until one does, or use --force to delete it")
        case .tooFewCopies:
            Phrase(
                "fewer than \(minimumCopies) other devices have it (min-copies); keep it selected until they do, or use --force to free it"
            )
        case .uncertainCopies:
            Phrase(
                "the devices that have a copy have not promised to keep it (\(holders.map { "\($0)" } ?? Phrase("see `synctrain whereis`"))); "
                    + "connect one and try again, or use --force to free it")
        case .failedCopies:
            Phrase(
                "\(holders.map { "\($0)" } ?? Phrase("another device")) did not send the blocks that it announces; rescan the folder there"
            )
        case .promised:
            Phrase(
                "\(holders.map { "\($0)" } ?? Phrase("another device")) counts on this copy; select it there first, or use --force to free it"
            )
        case .changedHere: Phrase("changed on this disk; use `synctrain extraneous resolve`")
        case .outdated: Phrase("other devices have another version; use `synctrain extraneous resolve`")
        case .deletedElsewhere: Phrase("deleted by the other devices; use `synctrain extraneous resolve`")
        case .notCompared:
            Phrase("not known to be the same as on other devices; use `synctrain extraneous resolve`")
        case .unsettled: Phrase("just written; try again in a moment")
        case .unknown: Phrase("not part of the folder; remove it by hand, or use `synctrain extraneous resolve`")
        case .inUse: Phrase("a program has it open for writing; close it first")
        case .failed: Phrase("disk error; see the log")
        }
    }
}
