import BlockExchange
import FileAccess
import Phrases
import Reconciliation

/// Names that are in the way, and free names for files that have to give way.
extension FolderContext {
    /// A free name for the loser of a conflict over `path`, in Syncthing's form.
    ///
    /// - Parameter moment: unix seconds; nil for the current time.
    func conflictCopy(of path: RelativePath, by device: ShortID, at moment: Int64? = nil) throws -> RelativePath {
        let moment = moment ?? now
        let time = ConflictTime(unixSeconds: moment, utcOffset: tools.utcOffset(moment))
        return try RelativePath(
            parsing: ConflictName.copy(of: path.text, at: time, by: device, isTaken: isTaken))
    }

    /// A free name for a copy that stays, or for one that is to be made.
    func ordinaryName(for path: RelativePath, label: String) throws -> RelativePath {
        try RelativePath(parsing: ConflictName.ordinary(for: path.text, label: label, isTaken: isTaken))
    }

    /// A free name for the loser of a conflict, as the folder's policy has it.
    ///
    /// - Parameter moment: unix seconds for the name; nil for the current time. Devices that settle the same conflict choose the same.
    func loserName(of path: RelativePath, by device: ShortID, at moment: Int64? = nil) throws -> RelativePath {
        guard rules.conflictPolicy == .both, rules.kind == .sendReceive else {
            return try conflictCopy(of: path, by: device, at: moment)
        }
        return try ordinaryName(for: path, label: tools.name(of: tools.localDevice))
    }

    /// A conflict copy of `path` has come: it is scanned, a program may decide, and the oldest ones go where there are too many.
    func conflictCopyMade(_ copy: RelativePath, of path: RelativePath, _ work: inout FolderWork) async throws {
        work.effects.rescans.insert(copy)
        work.noteUndecided(copy, rules)
        let (archive, limit) = (archive, rules.conflictLimit)
        let removed = try await onDisk { try archive.removeExcessConflicts(of: path, besides: copy, limit: limit) }
        work.effects.rescans.formUnion(removed)
    }

    /// The first file, link or other thing that is no directory among the names above `path` on this disk, with what to do.
    /// Blocks its thread.
    package func obstacle(to path: RelativePath) throws(FileAccessError) -> (path: RelativePath, text: Phrase)? {
        guard let obstacle = try root.obstacle(above: path) else { return nil }
        return (obstacle, ProblemText.obstacle(obstacle.text, to: path.text, in: id))
    }

    /// The paths of what is in a directory, on this disk or on others.
    ///
    /// - Throws: `IndexStoreError`; `FileAccessError`; `CancellationError`.
    func names(in directory: RelativePath?) async throws -> Set<String> {
        let prefix = directory.map { "\($0.text)/" } ?? ""
        var names = Set(try await index.store.children(id, of: directory?.text ?? "").map(\.path))
        let root = root
        names.formUnion(
            try await onDisk {
                do {
                    return try root.list(directory).compactMap { entry in entry.name.map { prefix + $0 } }
                } catch let error as FileAccessError where error.isAbsence {
                    return []
                }
            })
        return names
    }

    /// Whether a name is never synced: synctrain's own, also as the disk folds it, or that of a temporary file.
    func isReserved(_ path: RelativePath) -> Bool {
        path.isInternal || path.isTemporary || root.traits.foldsNames && path.internalTwin != nil
    }

    private func isTaken(_ name: String) -> Bool {
        guard let path = RelativePath(name) else { return false }
        return (try? root.status(of: path)) ?? nil != nil
    }
}
