import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import Reconciliation
import Selection

/// Settles the conflicts of a file, or the one of a copy, as a person said. What goes wrong with one conflict is in its
/// outcome.
package struct ResolveConflictsStep: FolderStep {
    package let path: String
    package let keep: ConflictResolution.Keep

    package init(path: String, keep: ConflictResolution.Keep) {
        self.path = path
        self.keep = keep
    }

    /// - Throws: `FolderError.noConflict`.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> [ConflictAnswer.Outcome] {
        let reading = ConflictReading(folder: folder)
        let path = try RelativePath(parsing: path)
        let copies = try await reading.copies(meantBy: path)
        var outcomes: [ConflictAnswer.Outcome] = []
        for copy in copies {
            let conflict = try await reading.conflict(copy)
            var outcome = ConflictAnswer.Outcome(conflict: conflict.shown, keep: keep)
            do {
                guard copies.count == 1 || keep == .both || conflict.kept(keep) == .original else {
                    throw FolderError.ambiguousConflict(conflict.original.text, copies: copies.count)
                }
                let resolved = try await ConflictSettling(folder: folder).resolve(conflict, keep: keep, &work)
                (outcome.renamed, outcome.archived) = (resolved.renamed, resolved.archived)
            } catch let error as CancellationError {
                throw error
            } catch {
                outcome.problem = ProblemText.of(error, in: folder.settings).english
            }
            outcomes.append(outcome)
        }
        work.effects.touchesConflicts = true
        return outcomes
    }
}

/// Does what was decided over a conflict.
struct ConflictSettling: Sendable {
    let folder: FolderContext

    struct Resolved: Sendable {
        /// The ordinary name that the copy has now.
        var renamed: String?
        /// Where in the archive what gave way is; absolute.
        var archived: String?
    }

    func resolve(
        _ conflict: FoundConflict, keep: ConflictResolution.Keep, _ work: inout FolderWork
    ) async throws -> Resolved {
        let (root, original, copy) = (folder.root, conflict.original, conflict.copy)
        guard let status = try await folder.onDisk({ try root.status(of: copy) }), status.type == .regular else {
            throw FolderError.copyGone(copy.text)
        }
        var resolved = Resolved()
        switch conflict.kept(keep) {
        case nil:
            let label = (conflict.mine == .copy ? conflict.shown.mine : conflict.shown.theirs).ordinaryLabel
            let name = try folder.ordinaryName(for: copy, label: label)
            try await folder.onDisk { try root.rename(copy, to: name, replacing: .nothing, expecting: status) }
            try await scan([copy, name], &work)
            resolved.renamed = name.text
        case .original:
            guard try await isSomewhere(original, &work) else {
                throw FolderError.keptVersionGone(
                    original.text, other: keep == .mine ? .theirs : .mine, copy: copy.text)
            }
            try await affirm(original, &work)
            resolved.archived = try await remove(copy, status)
            try await scan([copy], &work)
        case .copy:
            if try await folder.onDisk({ try root.status(of: original) })?.type == .directory {
                throw FolderError.isDirectory(original.text)
            }
            // Not moved: a process that dies in between would leave the bytes under a name that is cleared away.
            resolved.archived = try await folder.placeCopy(
                of: copy, in: root, expecting: status, at: original, permissions: status.permissions & 0o777,
                modified: status.modified, &work)
            _ = try await folder.onDisk { try root.remove(copy, expecting: status) }
            try await scan([original, copy], &work)
        }
        return resolved
    }

    /// Whether this disk or another device has something of the name.
    private func isSomewhere(_ path: RelativePath, _ work: inout FolderWork) async throws -> Bool {
        let root = folder.root
        if try await folder.onDisk({ try root.status(of: path) }) != nil { return true }
        // What was deleted a moment ago is still in the index; the others would follow.
        try await scan([path], &work)
        guard let facts = try await folder.index.facts(path.text), facts.global?.isDeleted == false else {
            return false
        }
        return !facts.holders.isEmpty
    }

    /// Announces the file as a new version, if it is here and in step with the others.
    private func affirm(_ path: RelativePath, _ work: inout FolderWork) async throws {
        guard let facts = try await folder.index.facts(path.text), let local = facts.localVersion,
            let global = facts.global, local.isOnDisk, !global.isDeleted, !folder.selection.isLeftOut(path.text)
        else { return }
        guard
            let version = LocalChanges.affirming(local, global: global, rules: folder.rules, unixSeconds: folder.now),
            let file = try await folder.index.withBlocks(version.file)
        else { throw FolderError.notInStep(path.text) }
        try await folder.index.apply(
            [.set(LocalEntry(LocalVersion(file: file, isOnDisk: true), facts.local?.status))], &work)
    }

    /// Removes a file, into the archive if there is one; gives where it is then.
    func remove(_ path: RelativePath, _ status: FileAccess.FileStatus) async throws -> String? {
        let archive = folder.archive
        return try await folder.onDisk {
            try archive.takeOrRemove(path, expecting: status).flatMap { try archive.open()?.absolutePath($0.path) }
        }
    }

    func scan(_ paths: [RelativePath], _ work: inout FolderWork) async throws {
        _ = try await ScanStep(paths: paths, isRequested: true).run(folder, &work)
    }
}

extension FolderContext {
    /// Puts a copy of a file into a place; what is there goes to the archive, if there is one. Gives where it is then,
    /// absolute.
    ///
    /// - parameters:
    ///   - source: the file's place beneath `origin`.
    ///   - status: what the file must be.
    ///   - isTagged: whether what gives way gets the time into its name in any case; see `ReplacedFate.archivedWithTime`.
    /// - Throws: `FolderError.reservedName` for a place that is never synced; `changedOnDisk` if either is not what was seen; what
    ///   the disk and the archive say.
    func placeCopy(
        of source: RelativePath, in origin: RootDirectory, expecting status: FileAccess.FileStatus,
        at path: RelativePath, permissions: UInt32?, modified: FileTime?, isTagged: Bool = false,
        _ work: inout FolderWork
    ) async throws -> String? {
        guard !isReserved(path) else { throw FolderError.reservedName(path.text) }
        let root = root
        let (staged, present) = try await onDisk {
            let present = try root.status(of: path)
            if let parent = path.parent { try root.createDirectories(parent) }
            return (try origin.stageCopy(of: source, for: path, in: root, expecting: status), present)
        }
        let replacement = present.map { Replacement.exactly($0) } ?? .nothing
        let placement = StagedPlacement(
            position: 0, content: .local, path: path, root: root, replacement: replacement,
            commit: StagedCommit(staged, replacing: replacement, permissions: permissions, modified: modified),
            fate: isTagged ? .archivedWithTime : .archived)
        let outcome = try await FilePlacer(units: [[placement]]).run(self, &work).first?.1
        switch outcome {
        case .done(let archived):
            guard let archived else { return nil }
            let archive = archive
            return try await onDisk { try archive.open()?.absolutePath(archived) }
        case .failed(let error):
            try await onDisk { try staged.discard() }
            throw error
        default:
            try await onDisk { try staged.discard() }
            throw FileAccessError(.changedOnDisk, .rename, path: path.text)
        }
    }
}
