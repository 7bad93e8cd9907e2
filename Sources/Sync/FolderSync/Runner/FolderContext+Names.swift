import BlockExchange
import FileAccess
import Reconciliation

/// Names that are in the way, and free names for files that have to give way.
extension FolderContext {
    /// A free name for the loser of a conflict over `path`, in Syncthing's form.
    func conflictCopy(of path: RelativePath, by device: ShortID) throws -> RelativePath {
        let time = ConflictTime(unixSeconds: now, utcOffset: tools.utcOffset(now))
        return try RelativePath(
            parsing: ConflictName.copy(of: path.text, at: time, by: device, isTaken: isTaken))
    }

    /// A free name for a copy that stays, or for one that is to be made.
    func ordinaryName(for path: RelativePath, label: String) throws -> RelativePath {
        try RelativePath(parsing: ConflictName.ordinary(for: path.text, label: label, isTaken: isTaken))
    }

    /// A free name for the loser of a conflict, as the folder's policy has it.
    func loserName(of path: RelativePath, by device: ShortID) throws -> RelativePath {
        guard rules.conflictPolicy == .both, rules.kind == .sendReceive else {
            return try conflictCopy(of: path, by: device)
        }
        return try ordinaryName(for: path, label: tools.name(of: tools.localDevice))
    }

    /// The first file, link or other thing that is no directory among the names above `path` on this disk, with what to do.
    /// Blocks its thread.
    package func obstacle(to path: RelativePath) throws(FileAccessError) -> (path: RelativePath, message: String)? {
        guard let obstacle = try root.obstacle(above: path) else { return nil }
        return (obstacle, ProblemText.obstacle(obstacle.text, to: path.text, in: id))
    }

    private func isTaken(_ name: String) -> Bool {
        guard let path = RelativePath(name) else { return false }
        return (try? root.status(of: path)) ?? nil != nil
    }
}
